package corelane.shm;

import java.lang.foreign.MemorySegment;
import java.time.Duration;

/** The receiving side of a {@link RecordLane}. */
public final class RecordConsumer extends Side {
    private final RecordLayout layout;
    /** Where the next record begins: the position grows with each word, the index is that in the ring. */
    private long position;
    private long index;
    private long count;
    private long given;

    RecordConsumer(Link link, RecordLayout layout) {
        super(link, Link.CONSUMER);
        this.layout = layout;
        if (!resume()) {
            throw refused();
        }
        arrive();
    }

    /** Goes on behind the last record that was removed. */
    private boolean resume() {
        position = (long) Link.LONG.getOpaque(memory, RecordLayout.POPPED_AT);
        index = Long.remainderUnsigned(position, layout.words());
        given = (long) Link.LONG.getOpaque(memory, RecordLayout.READ_AT);
        count = RecordLayout.number(head(), (long) Link.LONG.getOpaque(memory, RecordLayout.POPPED_AT + 8));
        if (count < 0 || position - given < 0 || position - given > layout.words()) {
            return false;
        }
        giveBack();
        return true;
    }

    private long head() {
        return (long) Link.LONG.getAcquire(memory, layout.at(index));
    }

    private void move(long words) {
        position += words;
        index += words;
        if (index == layout.words()) {
            index = 0;
        }
    }

    /** Gives room back, if it is at least an eighth of the ring. */
    private void giveBack() {
        if (position - given >= layout.words() / 8) {
            given = position;
            Link.LONG.setRelease(memory, RecordLayout.READ_AT, given);
            wake();
        }
    }

    /** The length of the oldest record, or -1. */
    private long find() {
        if (head() == RecordLayout.head(count, RecordLayout.SKIP)) {
            move(layout.words() - index);
        }
        long head = head();
        long kind = head & RecordLayout.SKIP;
        boolean isThere = kind != 0 && kind != RecordLayout.SKIP && head >>> 32 == (count & RecordLayout.SKIP);
        // Another process, which isn't to be trusted, may have written any length.
        return isThere && RecordLayout.words(kind - 1) <= layout.words() - index ? kind - 1 : -1;
    }

    /** Records that were removed since the lane was made, by all processes that have had this side. */
    public long position() {
        return count;
    }

    /** The oldest record in place, until {@link #release}. Null if there is none. */
    public MemorySegment tryPeek() {
        long length = find();
        return length < 0 ? null : memory.asSlice(layout.at(index) + 8, length).asReadOnly();
    }

    /** As {@link #tryPeek}. Waits for a record. Null if there is none and the producer is gone. */
    public MemorySegment peek() {
        return peek(Lane.FOREVER);
    }

    /** As {@link #peek()}, for at most so long: then null, too. */
    public MemorySegment peek(Duration timeout) {
        MemorySegment record = tryPeek();
        if (record == null) {
            await(() -> find() >= 0 || isClosed(), timeout.toNanos());
            record = tryPeek();
        }
        return record;
    }

    /** Removes the oldest record, which was found. */
    public void release() {
        long length = find();
        if (length < 0) {
            throw new IllegalStateException("there is no record to release");
        }
        move(RecordLayout.words(length));
        count++;
        Link.LONG.setOpaque(memory, RecordLayout.POPPED_AT, position);
        Link.LONG.setOpaque(memory, RecordLayout.POPPED_AT + 8, count);
        giveBack();
    }
}

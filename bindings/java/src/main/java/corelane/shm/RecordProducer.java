package corelane.shm;

import java.lang.foreign.MemorySegment;
import java.lang.invoke.VarHandle;
import java.time.Duration;

/** The sending side of a {@link RecordLane}. */
public final class RecordProducer extends Side {
    private final RecordLayout layout;
    /** Where the next record begins: the position grows with each word, the index is that in the ring. */
    private long position;
    private long index;
    private long count;
    private long limit;
    /** Bytes that are claimed, or -1. */
    private long claimed = -1;

    RecordProducer(Link link, RecordLayout layout) {
        super(link, Link.PRODUCER);
        this.layout = layout;
        if (!resume()) {
            throw refused();
        }
        arrive();
    }

    /** Goes on behind the last record. */
    private boolean resume() {
        position = (long) Link.LONG.getOpaque(memory, RecordLayout.PUSHED_AT);
        index = Long.remainderUnsigned(position, layout.words());
        count = RecordLayout.number(head(), (long) Link.LONG.getOpaque(memory, RecordLayout.PUSHED_AT + 8));
        long kind = head() & RecordLayout.SKIP;
        // A record or a skip that the last producer had published, and had not moved behind.
        if (kind == RecordLayout.SKIP) {
            move(layout.words() - index);
        } else if (kind != 0) {
            long words = RecordLayout.words(kind - 1);
            if (words > layout.words() - index) {
                return false;
            }
            move(words);
            count++;
        }
        if (count < 0 || head() != RecordLayout.head(count, 0)) {
            return false;
        }
        mark();
        look();
        return true;
    }

    private long head() {
        return (long) Link.LONG.getOpaque(memory, layout.at(index));
    }

    private void move(long words) {
        position += words;
        index += words;
        if (index == layout.words()) {
            index = 0;
        }
    }

    private void mark() {
        Link.LONG.setOpaque(memory, RecordLayout.PUSHED_AT, position);
        Link.LONG.setOpaque(memory, RecordLayout.PUSHED_AT + 8, count);
    }

    private void look() {
        long read = (long) Link.LONG.getAcquire(memory, RecordLayout.READ_AT);
        long inside = position - read;
        // Another process, which isn't to be trusted, may have written anything.
        limit = inside >= 0 && inside <= layout.words() ? read + layout.words() : position;
    }

    private boolean isFree(long words) {
        if (limit - position < words) {
            look();
        }
        return limit - position >= words;
    }

    /** Makes room for a record of so many words. */
    private boolean allocate(long words) {
        long left = layout.words() - index;
        long skipped = words > left ? left : 0;
        if (!isFree(skipped + words + 1)) {
            return false;
        }
        if (skipped > 0) {
            show(skipped, RecordLayout.SKIP);
        }
        return true;
    }

    /** Shows the consumer what is at the place, which takes so many words, and goes behind it. */
    private void show(long words, long kind) {
        long at = layout.at(index);
        long head = RecordLayout.head(count, kind);
        move(words);
        if (kind != RecordLayout.SKIP) {
            count++;
        }
        Link.LONG.setOpaque(memory, layout.at(index), RecordLayout.head(count, 0));
        Link.LONG.setRelease(memory, at, head);
        VarHandle.storeStoreFence();
        mark();
    }

    /** Records that were pushed since the lane was made, by all processes that have had this side. */
    public long position() {
        return count;
    }

    /** Bytes of the longest record. */
    public long maxLength() {
        return layout.maxLength();
    }

    /** The lane's memory, in which {@link #tryClaim} gives places. */
    public MemorySegment memory() {
        return memory;
    }

    /** Where a record of up to so many bytes is to be written, or -1 if there is no room now. */
    public long tryClaim(long length) {
        if (length < 0 || length > maxLength()) {
            throw new IllegalArgumentException(
                    "a record of " + length + " bytes: the longest here has " + maxLength());
        }
        if (!allocate(RecordLayout.words(length))) {
            return -1;
        }
        claimed = length;
        return layout.at(index) + 8;
    }

    /** As {@link #tryClaim}. Waits for room. -1 if there is none and the consumer is gone. */
    public long claim(long length) {
        return claim(length, Lane.FOREVER);
    }

    /** As {@link #claim(long)}, for at most so long: then -1, too. */
    public long claim(long length, Duration timeout) {
        long at = tryClaim(length);
        if (at < 0) {
            await(() -> allocate(RecordLayout.words(length)) || isClosed(), timeout.toNanos());
            at = tryClaim(length);
        }
        return at;
    }

    /** Appends the first bytes of the claimed place as a record. */
    public void commit(long length) {
        if (length < 0 || length > claimed) {
            throw new IllegalStateException(length + " bytes to commit of " + claimed + " that were claimed");
        }
        claimed = -1;
        show(RecordLayout.words(length), length + 1);
        wake();
    }

    /** Appends a copy of the bytes. Waits for room. False if there is none and the consumer is gone. */
    public boolean push(MemorySegment bytes) {
        long at = claim(bytes.byteSize());
        if (at < 0) {
            return false;
        }
        MemorySegment.copy(bytes, 0, memory, at, bytes.byteSize());
        commit(bytes.byteSize());
        return true;
    }
}

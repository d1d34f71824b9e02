package corelane.shm;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;

import java.lang.foreign.MemorySegment;
import java.lang.invoke.VarHandle;
import java.time.Duration;

/** The receiving side of a {@link Lane}. */
public final class ItemConsumer extends Side {
    private final ItemLayout layout;
    private long line;
    /** The position of the line's first item, and the number of items before the next one. */
    private long start;
    private int i;
    /** Items of the line that were seen. */
    private int filled;
    private long left;

    ItemConsumer(Link link, ItemLayout layout) {
        super(link, Link.CONSUMER);
        this.layout = layout;
        if (!resume()) {
            throw refused();
        }
        arrive();
    }

    /** Goes on behind the last item that was popped. */
    private boolean resume() {
        long popped = (long) Link.LONG.getOpaque(memory, ItemLayout.POPPED_AT);
        left = popped / layout.n();
        long given = left & -layout.together();
        if (popped < 0 || (long) Link.LONG.getOpaque(memory, ItemLayout.READ_AT) > given) {
            return false;
        }
        Link.LONG.setRelease(memory, ItemLayout.READ_AT, given);
        line = layout.line(left);
        start = left * layout.n();
        i = (int) (popped - start);
        filled = i;
        return true;
    }

    /** Goes behind a line. */
    private void leave() {
        // Unchanged, but this core owns the line when the producer needs it next.
        Link.LONG.setOpaque(memory, line, start + layout.n());
        left++;
        start += layout.n();
        line = layout.line(left);
        i = 0;
        filled = 0;
        if ((left & layout.together() - 1) == 0) {
            Link.LONG.setRelease(memory, ItemLayout.READ_AT, left);
            wake();
        }
    }

    private boolean look() {
        if (i == layout.n()) {
            leave();
        }
        long seen = (long) Link.LONG.getAcquire(memory, line) - start;
        filled = (int) Math.max(0, Math.min(seen, layout.n()));
        return i < filled;
    }

    /** Items that were popped since the lane was made, by all processes that have had this side. */
    public long position() {
        return start + i;
    }

    /** The lane's memory, in which {@link #tryPeek} gives places. */
    public MemorySegment memory() {
        return memory;
    }

    /** Where the oldest item is, or -1 if there is none. {@link #release} removes it. */
    public long tryPeek() {
        if (i >= filled && !look()) {
            return -1;
        }
        return line + layout.itemsAt() + i * layout.size();
    }

    /** Removes the item that was found last. */
    public void release() {
        long at = line + layout.itemsAt() + i * layout.size();
        i++;
        Link.LONG.setOpaque(memory, ItemLayout.POPPED_AT, start + i);
        if (layout.isGroup()) {
            // A consumer that dies has not touched items that it has not recorded.
            VarHandle.storeStoreFence();
            for (long line = 0; line < layout.size(); line += 64) {
                memory.set(JAVA_BYTE, at + line, (byte) 0);
            }
        }
    }

    /** Copies the oldest item and removes it, if there is one. */
    public boolean tryPop(MemorySegment into) {
        long at = tryPeek();
        if (at < 0) {
            return false;
        }
        MemorySegment.copy(memory, at, into, 0, layout.size());
        release();
        return true;
    }

    /** Copies the oldest item and removes it. Waits for one. False if there is none and the producer is gone. */
    public boolean pop(MemorySegment into) {
        return pop(into, Lane.FOREVER);
    }

    /** As {@link #pop(MemorySegment)}, for at most so long: then false, too. */
    public boolean pop(MemorySegment into, Duration timeout) {
        if (tryPop(into)) {
            return true;
        }
        await(() -> look() || isClosed(), timeout.toNanos());
        return tryPop(into);
    }

    /** Copies and removes up to {@code n} items, and returns their number. */
    public int tryPopMany(MemorySegment into, int n) {
        int done = 0;
        while (done < n && tryPop(into.asSlice(done * layout.size(), layout.size()))) {
            done++;
        }
        return done;
    }
}

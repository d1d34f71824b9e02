package corelane.shm;

import corelane.ring.LineConsumer;
import corelane.ring.LineLayout;
import java.lang.foreign.MemorySegment;
import java.time.Duration;

/** The receiving side of a {@link Lane}. */
public final class ItemConsumer extends Side {
    private final LineLayout layout;
    private final LineConsumer ring;

    ItemConsumer(Link link, LineLayout layout) {
        super(link, Link.CONSUMER);
        this.layout = layout;
        long popped = (long) Link.LONG.getOpaque(memory, Lane.POPPED_AT);
        long given = popped / layout.n() & -layout.together();
        if (popped < 0 || (long) Link.LONG.getOpaque(memory, Lane.READ_AT) > given) {
            throw refused();
        }
        Link.LONG.setRelease(memory, Lane.READ_AT, given);
        ring = LineConsumer.at(memory, layout, Lane.LINES_AT, Lane.READ_AT, Lane.POPPED_AT, popped);
        arrive();
    }

    /** Items that were popped since the lane was made, by all processes that have had this side. */
    public long position() {
        return ring.position();
    }

    /** The lane's memory, in which {@link #tryPeek} gives places. */
    public MemorySegment memory() {
        return memory;
    }

    /** Where the oldest item is, or -1 if there is none. {@link #release} removes it. */
    public long tryPeek() {
        long left = ring.left();
        long at = ring.peek();
        wakeIfGivenBack(left);
        return at;
    }

    /** The producer may sleep until lines are given back. */
    private void wakeIfGivenBack(long before) {
        if (ring.left() != before && ring.left() / layout.together() != before / layout.together()) {
            wake();
        }
    }

    /** Removes the item that was found last. */
    public void release() {
        ring.release(1);
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
        await(() -> hasItem() || isClosed(), timeout.toNanos());
        return tryPop(into);
    }

    private boolean hasItem() {
        long left = ring.left();
        boolean found = ring.hasItem();
        wakeIfGivenBack(left);
        return found;
    }

    /** Copies and removes up to {@code n} items, and returns their number. */
    public int tryPopMany(MemorySegment into, int n) {
        long left = ring.left();
        int done = ring.pop(into, 0, n);
        wakeIfGivenBack(left);
        return done;
    }
}

package corelane;

import corelane.ring.Blocks;
import corelane.ring.Overwriting;
import java.lang.foreign.MemorySegment;
import java.time.Duration;

/**
 * The block-based bounded queue that overwrites, for items of fixed size off the heap:
 * {@link OverwritingQueue} says what it guarantees. Items are copied in and out.
 *
 * <pre>{@code
 * var events = new OverwritingItemQueue(16, 4096);
 * events.push(event);                        // a segment of 16 bytes; never waits for consumers
 * while (events.pop(into)) { ... }           // false if the queue is closed and empty
 * }</pre>
 */
public final class OverwritingItemQueue implements AutoCloseable {
    private final Overwriting ring;
    private final MemorySegment memory;
    private final long size;
    private final Bell itemsBell;
    private volatile boolean isClosed;

    /** A queue that keeps at least the {@code capacity} newest items of {@code size} bytes. */
    public OverwritingItemQueue(long size, int capacity) {
        this(size, capacity, Strategy.SPIN_THEN_SLEEP);
    }

    /** A queue that keeps at least the {@code capacity} newest items of {@code size} bytes. */
    public OverwritingItemQueue(long size, int capacity, Strategy strategy) {
        ring = new Overwriting(capacity);
        memory = BlockItemQueue.allocate(size, ring.slots());
        this.size = size;
        itemsBell = new Bell(strategy, false);
    }

    /** How many of the newest items are always kept. */
    public int capacity() {
        return ring.kept();
    }

    /** Items inside: a snapshot. */
    public int size() {
        return ring.size();
    }

    /** Items that were overwritten, as far as pops have found out. */
    public long lost() {
        return ring.lost();
    }

    /** Pushes a copy of the item. False if the queue is closed. */
    public boolean push(MemorySegment item) {
        return pushMany(item, 0, 1) == 1;
    }

    /** Pushes copies of {@code n} items in a row, from the index {@code first} on. 0 if the queue is closed. */
    public int pushMany(MemorySegment items, int first, int n) {
        ItemQueue.check(items, first, n, size);
        int done = 0;
        for (int i = 0; done < n && !isClosed;) {
            long run = ring.claim(n - done);
            int slot = (int) run;
            if (slot < 0) {
                Blocks.await(i++);
                continue;
            }
            int some = (int) (run >> 32);
            MemorySegment.copy(items, (first + done) * size, memory, slot * size, some * size);
            ring.publish(slot, some);
            done += some;
        }
        itemsBell.ring(done);
        return done;
    }

    /** Copies the oldest item and removes it, if there is one. */
    public boolean tryPop(MemorySegment into) {
        return tryPopMany(into, 0, 1) == 1;
    }

    /** Copies and removes up to {@code n} items, to the index {@code first} and those behind it. */
    public int tryPopMany(MemorySegment into, int first, int n) {
        ItemQueue.checkInto(into, first, n, size);
        int done = 0;
        for (int i = 0; done < n;) {
            Overwriting.Run run = ring.reserve(n - done);
            if (run == Overwriting.NOTHING || run == Overwriting.YET && done > 0) {
                break;
            }
            if (run == Overwriting.YET) {
                Blocks.await(i++);
                continue;
            }
            MemorySegment.copy(memory, run.slot() * size, into, (first + done) * size, run.n() * size);
            if (ring.isIntact(run)) {
                done += run.n();
            }
        }
        return done;
    }

    /** Copies the oldest item and removes it. Waits for one. False if the queue is closed and empty. */
    public boolean pop(MemorySegment into) throws InterruptedException {
        return pop(into, ItemQueue.FOREVER);
    }

    /** As {@link #pop(MemorySegment)}, for at most so long: then false, too. */
    public boolean pop(MemorySegment into, Duration timeout) throws InterruptedException {
        if (tryPop(into)) {
            return true;
        }
        var found = new Object() {
            boolean item;
        };
        itemsBell.await(
                () -> {
                    // Read before the look, which then finds all that was pushed before.
                    boolean wasClosed = isClosed;
                    return (found.item = tryPop(into)) || wasClosed;
                },
                ItemQueue.nanoseconds(timeout));
        return found.item;
    }

    /** Pushes fail from now on, and so do pops when all items are popped. A second call does nothing. */
    @Override
    public void close() {
        isClosed = true;
        itemsBell.ring(Integer.MAX_VALUE);
    }

    /** Whether {@link #close} was called. There may be items inside. */
    public boolean isClosed() {
        return isClosed;
    }

    @Override
    public String toString() {
        return "OverwritingItemQueue[" + size() + " of " + capacity() + "]";
    }
}

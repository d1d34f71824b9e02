package corelane.ring;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.concurrent.locks.LockSupport;

/**
 * A ring of slots, divided into blocks with counters of their own (J. Wang 2024, ch. 2). The slots are
 * elsewhere: this class and the sides know their numbers only.
 *
 * <p>{@code committed}, {@code reserved} and {@code consumed} count through all laps and are never reset, as
 * {@code emptied} does, the last value of {@code consumed} at which all slots of a block were empty.
 * {@code allocated} has the number of the lap above an offset, since late producers add to it too. A
 * <i>head</i> is the number of a lap and of a block. A lap's number has 51 bits in a head, and 32 bits in
 * {@code allocated}: a thread must not be stopped inside a push while producers go round 2³¹ times.
 */
public final class Blocks {
    /** As a slot: there is none. */
    public static final int NOTHING = -1;
    /** As a slot: there is one when an unfinished call of another thread is finished. */
    public static final int YET = -2;

    static final VarHandle COUNT = MethodHandles.arrayElementVarHandle(long[].class);

    /** Where the counters of a block are, from its first one. */
    static final int ALLOCATED = 0;
    static final int COMMITTED = 1;
    static final int RESERVED = 16;
    static final int CONSUMED = 17;
    static final int EMPTIED = 32;
    /** Only in queues that overwrite: the lap in which slots are being filled, or have been filled. */
    static final int ENTERED = EMPTIED;

    static final int PHEAD = 16;
    static final int CHEAD = 32;
    private static final int FIRST = 48;
    private static final int STRIDE = 48;

    private static final int INDEX_BITS = 13;
    private static final int MOST_BLOCKS = 1 << INDEX_BITS;
    private static final int LEAST_SIZE = 8;
    private static final int MOST_SIZE = 1 << 15;
    /** Bits of {@code allocated} for an offset: also for the late additions of 65,535 threads. */
    private static final int OFFSET_BITS = 32;

    /** Slots of a block: a power of two. */
    final int size;
    final int blocks;
    final long[] counts;
    /** The block that the sides begin with. */
    final long first;

    private Blocks(int capacity, boolean isOverwriting, long firstLap) {
        if (capacity <= 0 || capacity > MOST_BLOCKS / 4 * MOST_SIZE) {
            throw new IllegalArgumentException("a queue for " + capacity + " items is not possible");
        }
        // The size that the paper has found best, for the capacity rounded up to a power of two.
        int log = Math.max(1, 32 - Integer.numberOfLeadingZeros(capacity - 1));
        int usual = 1 << log - Math.max(1, log / 4);
        size = Math.clamp(usual, LEAST_SIZE, MOST_SIZE);
        // All slots of a block but one may be empty, and not given back yet. A queue that overwrites keeps
        // nothing of the block that is being filled.
        long needed = (long) capacity + (isOverwriting ? size : size - 1);
        blocks = (int) Math.max(2, (needed + size - 1) / size);
        counts = new long[FIRST + blocks * STRIDE];
        first = head(firstLap, 0);
        counts[PHEAD] = first;
        counts[CHEAD] = first;
        for (int block = 0; block < blocks; block++) {
            // As if earlier laps had filled and emptied the block.
            int at = at(first + block);
            for (int counter : new int[] {COMMITTED, RESERVED, CONSUMED, EMPTIED}) {
                counts[at + counter] = before(first);
            }
            counts[at + ALLOCATED] = allocated(firstLap - 1) | size;
        }
    }

    /** Blocks for at least {@code capacity} items. */
    public static Blocks of(int capacity) {
        return of(capacity, 0);
    }

    /** The same, as if so many laps were over: for tests of counters that wrap. */
    public static Blocks of(int capacity, long firstLap) {
        return new Blocks(capacity, false, firstLap);
    }

    /** Blocks that keep at least the {@code capacity} newest items. */
    static Blocks overwriting(int capacity, long firstLap) {
        return new Blocks(capacity, true, firstLap);
    }

    /** Number of all slots. */
    public int slots() {
        return size * blocks;
    }

    /** Items that always fit. */
    public int capacity() {
        return slots() - size + 1;
    }

    /** Where the counters of the head's block are. */
    static int at(long head) {
        return FIRST + index(head) * STRIDE;
    }

    static int index(long head) {
        return (int) head & MOST_BLOCKS - 1;
    }

    /** The number of the head's lap. */
    static long lap(long head) {
        return head >> INDEX_BITS;
    }

    static long head(long lap, int index) {
        return lap << INDEX_BITS | index;
    }

    /** What the counters of the head's block are when all earlier laps are done. */
    long before(long head) {
        return lap(head) * size;
    }

    /** The head's first slot. */
    int slot(long head) {
        return index(head) * size;
    }

    /** The head of the next block. */
    long next(long head) {
        return index(head) + 1 == blocks ? head(lap(head) + 1, 0) : head + 1;
    }

    /** {@code allocated} when no slot has been taken in this lap. */
    static long allocated(long lap) {
        return lap << OFFSET_BITS;
    }

    /** How many slots {@code allocated} counts, with late additions. */
    static int offset(long allocated) {
        return (int) allocated;
    }

    long get(int at) {
        return (long) COUNT.getAcquire(counts, at);
    }

    /** Sets a counter to the value, unless it is there or ahead already. */
    void advance(int at, long value) {
        long seen = (long) COUNT.getOpaque(counts, at);
        while (seen - value < 0) {
            long found = (long) COUNT.compareAndExchangeRelease(counts, at, seen, value);
            if (found == seen) {
                return;
            }
            seen = found;
        }
    }

    /** Items filled, in all blocks: a snapshot. */
    long filled() {
        return sum(COMMITTED);
    }

    /** Items taken by several consumers, in all blocks: a snapshot. */
    long reserved() {
        return sum(RESERVED);
    }

    private long sum(int counter) {
        long sum = 0;
        for (int at = FIRST; at < counts.length; at += STRIDE) {
            sum += (long) COUNT.getAcquire(counts, at + counter);
        }
        return sum;
    }

    /** Slots in a row, in one number. */
    static long run(int slot, int n) {
        return (long) n << 32 | slot;
    }

    /**
     * Waits a little for an unfinished call of another thread: the {@code i}th time. Whether a call that doesn't
     * wait should look again.
     */
    public static boolean await(int i) {
        if (i < 100) {
            Thread.onSpinWait();
        } else if (i < 200) {
            // The other thread may need this core.
            Thread.yield();
        } else {
            LockSupport.parkNanos(50_000);
        }
        return i < 200;
    }
}

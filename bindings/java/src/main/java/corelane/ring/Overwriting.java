package corelane.ring;

import java.lang.invoke.VarHandle;

/**
 * Several producers that never wait for consumers, and several consumers (J. Wang 2024, §2.4.3, drop-old). A
 * producer enters the next block whether or not its items have been popped. A consumer copies items, and uses
 * the copies only if no producer has entered the block again meanwhile.
 */
public final class Overwriting extends Pad {
    /** There is no item. */
    public static final Run NOTHING = new Run(Blocks.NOTHING, 0, 0);
    /** There is one when an unfinished call of another thread is finished. */
    public static final Run YET = new Run(Blocks.YET, 0, 0);

    /** A counter in a line that producers don't write. */
    private static final int LOST = Blocks.CHEAD + 1;

    private final Blocks blocks;
    private final long[] counts;

    /**
     * Slots whose items may be copied.
     *
     * @param slot the first one; negative if there is none
     * @param n their number
     * @param lap the lap in which they were filled
     */
    public record Run(int slot, int n, long lap) {}

    /** A ring that keeps at least the {@code capacity} newest items. */
    public Overwriting(int capacity) {
        this(capacity, 0);
    }

    /** The same, as if so many laps were over: for tests of counters that wrap. */
    public Overwriting(int capacity, long firstLap) {
        blocks = Blocks.overwriting(capacity, firstLap);
        counts = blocks.counts;
        for (int block = 0; block < blocks.blocks; block++) {
            counts[Blocks.at(blocks.first + block) + Blocks.ENTERED] = firstLap - 1;
        }
        int at = Blocks.at(blocks.first);
        counts[at + Blocks.ALLOCATED] = Blocks.allocated(firstLap);
        counts[at + Blocks.ENTERED] = firstLap;
    }

    public int slots() {
        return blocks.slots();
    }

    /** How many of the newest items are always kept. */
    public int kept() {
        return blocks.slots() - blocks.size;
    }

    /** Items that consumers found overwritten. */
    public long lost() {
        return (long) Blocks.COUNT.getOpaque(counts, LOST);
    }

    /** As {@link Producers#claim(int)}: {@link Blocks#YET} if a push of the last lap is unfinished. */
    public long claim(int wanted) {
        for (;;) {
            // Acquire ↔ Release in `advance`: the block's `allocated`.
            long head = blocks.get(Blocks.PHEAD);
            int at = Blocks.at(head);
            // Late producers must not add again and again.
            int left = blocks.size - Blocks.offset(blocks.get(at + Blocks.ALLOCATED));
            if (left > 0) {
                int n = Math.min(wanted, left);
                // Acquire ↔ Release in `advance`: earlier writes to the slots.
                int offset = Blocks.offset((long) Blocks.COUNT.getAndAdd(counts, at + Blocks.ALLOCATED, (long) n));
                left = blocks.size - offset;
                if (left > 0) {
                    // Release ↔ Acquire of the fence in `isIntact`: a consumer that copies what is written from
                    // now on sees that the block has been entered.
                    VarHandle.releaseFence();
                    return Blocks.run(blocks.slot(head) + offset, Math.min(n, left));
                }
            }
            if (!enter(blocks.next(head))) {
                return Blocks.YET;
            }
        }
    }

    private boolean enter(long to) {
        int at = Blocks.at(to);
        // Acquire ↔ Release in `publish`: earlier writes to the slots. It may be ahead already.
        if (blocks.get(at + Blocks.COMMITTED) < blocks.before(to)) {
            return false;
        }
        // Release ↔ Acquire in `oldest` and `isIntact`: the items that are still there.
        blocks.advance(at + Blocks.ENTERED, Blocks.lap(to));
        blocks.advance(at + Blocks.ALLOCATED, Blocks.allocated(Blocks.lap(to)));
        blocks.advance(Blocks.PHEAD, to);
        return true;
    }

    /** Publishes filled slots, which were claimed together. */
    public void publish(int slot, int n) {
        int committedAt = Blocks.at(slot / blocks.size) + Blocks.COMMITTED;
        // Release ↔ Acquire in `reserve`: the items. Release ↔ Acquire in `enter`: the writes to the slots.
        Blocks.COUNT.getAndAddRelease(counts, committedAt, (long) n);
    }

    /** Takes up to {@code wanted} items of one block. Producers may overwrite them at any time. */
    public Run reserve(int wanted) {
        for (;;) {
            // Acquire ↔ Release in `leave`: the items that made another consumer leave the block.
            long head = blocks.get(Blocks.CHEAD);
            int at = Blocks.at(head);
            long before = blocks.before(head);
            long full = before + blocks.size;
            // No consumer has taken items in the laps that were left out.
            blocks.advance(at + Blocks.RESERVED, before);
            // Acquire ↔ Release of the exchange below: an item taken makes visible the items behind it.
            long reserved = blocks.get(at + Blocks.RESERVED);
            if (reserved >= full) {
                leave(head, blocks.next(head));
                continue;
            }
            // Acquire ↔ Release in `publish`: the items.
            long committed = blocks.get(at + Blocks.COMMITTED);
            if (committed > full) {
                if (take(at, reserved, full)) {
                    lose(full - reserved);
                    leave(head, oldest(head));
                }
                continue;
            }
            if (committed < full) {
                // Without a gap, as many slots are committed as were allocated.
                long allocated = blocks.get(at + Blocks.ALLOCATED) - Blocks.allocated(Blocks.lap(head));
                if (allocated > committed - before) {
                    return YET;
                }
            }
            if (committed <= reserved) {
                return NOTHING;
            }
            int n = (int) Math.min(wanted, committed - reserved);
            if (take(at, reserved, reserved + n)) {
                return new Run(blocks.slot(head) + (int) (reserved - before), n, Blocks.lap(head));
            }
            Thread.onSpinWait();
        }
    }

    private boolean take(int at, long reserved, long next) {
        return Blocks.COUNT.compareAndSet(counts, at + Blocks.RESERVED, reserved, next);
    }

    /** Leaves a block. Of two consumers that know different next blocks, one decides, and counts the loss. */
    private void leave(long head, long to) {
        if (Blocks.COUNT.compareAndSet(counts, Blocks.CHEAD, head, to)) {
            long laps = Blocks.lap(to) - Blocks.lap(head);
            long left = laps * blocks.blocks + Blocks.index(to) - Blocks.index(head) - 1;
            if (left > 0) {
                lose(left * blocks.size);
            }
        }
    }

    private void lose(long items) {
        Blocks.COUNT.getAndAdd(counts, LOST, items);
    }

    /** The oldest block that may not be overwritten yet, for a consumer that was overtaken in this one. */
    private long oldest(long head) {
        // Acquire ↔ Release in `enter`: the items that are still there.
        long entered = blocks.get(Blocks.at(head) + Blocks.ENTERED);
        return blocks.next(Blocks.head(entered - 1, Blocks.index(head)));
    }

    /** Whether copies made of these slots until now are the items that were pushed. Otherwise they are lost. */
    public boolean isIntact(Run run) {
        // Acquire ↔ Release of the producers' fences: `entered` of the lap from which a slot was copied.
        VarHandle.acquireFence();
        boolean isIntact = blocks.get(Blocks.at(run.slot / blocks.size) + Blocks.ENTERED) == run.lap;
        if (!isIntact) {
            lose(run.n);
        }
        return isIntact;
    }

    /** Items that can be popped: a snapshot. */
    public int size() {
        long head = blocks.get(Blocks.CHEAD);
        long taken = Math.clamp(blocks.get(Blocks.at(head) + Blocks.RESERVED) - blocks.before(head), 0, blocks.size);
        long popped = (Blocks.lap(head) * blocks.blocks + Blocks.index(head)) * blocks.size + taken;
        long inside = blocks.filled() - popped;
        long last = blocks.get(Blocks.PHEAD);
        long most = kept() + Blocks.offset(blocks.get(Blocks.at(last) + Blocks.ALLOCATED));
        return (int) Math.clamp(inside, 0, Math.min(most, slots()));
    }
}

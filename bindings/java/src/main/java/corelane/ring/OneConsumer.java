package corelane.ring;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/** The only consumer (J. Wang 2024, §2.4.5): it takes items in order, with stores only. */
public abstract sealed class OneConsumer extends Consumers {
    private static final VarHandle TAKEN;
    /** A consumer that pops so many items before it catches up again is far enough behind. */
    private static final long FAR_BEHIND = 256;
    /** Pauses that are about as long as a push of one of several producers. */
    private static final int A_PUSH = 16;

    static {
        try {
            TAKEN = MethodHandles.lookup().findVarHandle(OneConsumer.class, "taken", long.class);
        } catch (ReflectiveOperationException error) {
            throw new ExceptionInInitializerError(error);
        }
    }

    private final Blocks blocks;
    private final long[] counts;
    /** Whether slots may be committed in another order than theirs. */
    private final boolean hasGaps;
    private final Distance distance = new Distance();
    /** The block that it empties. */
    private long head;
    private int at;
    /** The next slot, the first one behind the items that were seen, and the first one behind the block. */
    private int next;
    private int known;
    private int end;
    /** Items taken, in all blocks. */
    private long taken;

    private OneConsumer(Blocks blocks, boolean hasGaps) {
        this.blocks = blocks;
        this.hasGaps = hasGaps;
        counts = blocks.counts;
        taken = blocks.filled();
        enter(blocks.first);
    }

    /** @param producers the other side */
    public static OneConsumer of(Blocks blocks, Producers producers) {
        return new Padded(blocks, producers instanceof SeveralProducers);
    }

    private void enter(long to) {
        head = to;
        at = Blocks.at(to);
        next = blocks.slot(to);
        known = next;
        end = next + blocks.size;
    }

    /** Looks for items behind those that were seen. */
    private int look() {
        if (next == end) {
            enter(blocks.next(head));
        }
        long before = blocks.before(head);
        // Acquire ↔ Release in producers' `publish`: the items.
        int committed = (int) (blocks.get(at + Blocks.COMMITTED) - before);
        if (hasGaps && committed < blocks.size) {
            // Without a gap, as many slots are committed as were allocated.
            long allocated = blocks.get(at + Blocks.ALLOCATED) - Blocks.allocated(Blocks.lap(head));
            if (allocated > committed) {
                return Blocks.YET;
            }
        }
        known = end - blocks.size + committed;
        return next < known ? next : Blocks.NOTHING;
    }

    /** Looks, and keeps a distance from a producer that is in the block. */
    private int refill(int wanted) {
        int found = look();
        if (found == Blocks.YET) {
            for (int i = 0; i < A_PUSH; i++) {
                Thread.onSpinWait();
            }
            found = look();
        }
        boolean isInside = known != end && next != end - blocks.size;
        if (isInside && known - next < wanted && distance.caughtUp(taken, FAR_BEHIND)) {
            int before = known;
            int again = look();
            distance.lookedAgain(known > before);
            found = next < known ? next : again;
        }
        return found;
    }

    @Override
    public final int reserve() {
        return next != known ? next : refill(1);
    }

    @Override
    public final long reserve(int wanted) {
        int found = known - next < wanted && (known != end || next == end) ? refill(wanted) : next;
        if (next == known) {
            return found;
        }
        return Blocks.run(next, Math.min(wanted, known - next));
    }

    @Override
    public final Object pop(Object[] items) {
        int slot = next;
        if (slot == known) {
            slot = refill(1);
            if (slot < 0) {
                return slot == Blocks.YET ? YET : null;
            }
        }
        Object item = items[slot];
        items[slot] = null;
        release(slot, 1);
        return item;
    }

    @Override
    public final boolean isAtEnd() {
        return next == end;
    }

    @Override
    public final void release(int slot, int n) {
        next += n;
        TAKEN.setOpaque(this, taken + n);
        if (next == end) {
            // Release ↔ Acquire in producers: the items are taken.
            Blocks.COUNT.setRelease(counts, at + Blocks.EMPTIED, blocks.before(head) + blocks.size);
        }
    }

    @Override
    public final Object peek(Object[] items) {
        for (int i = 0;; i++) {
            int found = next < known ? next : look();
            if (found != Blocks.YET) {
                return found < 0 ? null : items[found];
            }
            Blocks.await(i);
        }
    }

    @Override
    public final int size() {
        long seen = (long) TAKEN.getOpaque(this);
        return Math.clamp(blocks.filled() - seen, 0, blocks.slots());
    }

    @SuppressWarnings("unused")
    private static final class Padded extends OneConsumer {
        private long z0, z1, z2, z3, z4, z5, z6, z7, z8, z9, z10, z11, z12, z13, z14, z15;

        Padded(Blocks blocks, boolean hasGaps) {
            super(blocks, hasGaps);
        }
    }
}

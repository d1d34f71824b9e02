package corelane.ring;

/** The only producer (J. Wang 2024, §2.4.5): it takes slots in order, with stores only. */
public abstract sealed class OneProducer extends Producers {
    private final Blocks blocks;
    private final long[] counts;
    /** The block that it fills. */
    private long head;
    private int committedAt;
    /** The next slot, and the first one behind the block. */
    private int next;
    private int end;
    /** From a slot of the block to {@code committed} when all slots before it are filled. */
    private long toCommitted;

    private OneProducer(Blocks blocks) {
        this.blocks = blocks;
        counts = blocks.counts;
        enter(blocks.first);
    }

    public static OneProducer of(Blocks blocks) {
        return new Padded(blocks);
    }

    private void enter(long to) {
        head = to;
        committedAt = Blocks.at(to) + Blocks.COMMITTED;
        next = blocks.slot(to);
        end = next + blocks.size;
        toCommitted = blocks.before(to) - next;
    }

    /** Enters the next block, if all its slots are empty, and returns the first one. */
    private int enterNext() {
        long to = blocks.next(head);
        long before = blocks.before(to);
        // Acquire ↔ Release of `emptied` in consumers: the items of the last lap are taken.
        if (blocks.get(Blocks.at(to) + Blocks.EMPTIED) < before) {
            return blocks.get(Blocks.at(to) + Blocks.RESERVED) < before ? Blocks.NOTHING : Blocks.YET;
        }
        enter(to);
        return next;
    }

    @Override
    public final int claim() {
        return next != end ? next : enterNext();
    }

    @Override
    public final long claim(int wanted) {
        int found = claim();
        if (found < 0) {
            return found;
        }
        return Blocks.run(next, Math.min(wanted, end - next));
    }

    @Override
    public final int push(Object[] items, Object item) {
        int slot = next;
        if (slot == end) {
            slot = enterNext();
            if (slot < 0) {
                return slot;
            }
        }
        items[slot] = item;
        next = slot + 1;
        // As in `publish`.
        Blocks.COUNT.setRelease(counts, committedAt, toCommitted + slot + 1);
        return 1;
    }

    @Override
    public final void publish(int slot, int n) {
        next += n;
        // Release ↔ Acquire of `committed` in consumers: the items.
        Blocks.COUNT.setRelease(counts, committedAt, toCommitted + next);
    }

    @SuppressWarnings("unused")
    private static final class Padded extends OneProducer {
        private long z0, z1, z2, z3, z4, z5, z6, z7, z8, z9, z10, z11, z12, z13, z14, z15;

        Padded(Blocks blocks) {
            super(blocks);
        }
    }
}

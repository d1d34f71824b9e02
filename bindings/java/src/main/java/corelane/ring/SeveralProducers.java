package corelane.ring;

/** Several producers (J. Wang 2024, §2.3): they take slots by fetch-and-add, and commit them in any order. */
public final class SeveralProducers extends Producers {
    private final Blocks blocks;
    private final long[] counts;

    public SeveralProducers(Blocks blocks) {
        this.blocks = blocks;
        counts = blocks.counts;
        // The first block has been entered.
        counts[Blocks.at(blocks.first) + Blocks.ALLOCATED] = Blocks.allocated(Blocks.lap(blocks.first));
    }

    @Override
    public int claim() {
        return (int) claim(1);
    }

    @Override
    public long claim(int wanted) {
        for (;;) {
            // Acquire ↔ Release in `advance`: the block's `allocated`.
            long head = blocks.get(Blocks.PHEAD);
            int allocatedAt = Blocks.at(head) + Blocks.ALLOCATED;
            // Late producers must not add again and again. Acquire ↔ Release of the addition below: the block
            // full makes visible what its last producer had observed as free.
            int left = blocks.size - Blocks.offset(blocks.get(allocatedAt));
            if (left > 0) {
                int n = Math.min(wanted, left);
                int offset = Blocks.offset((long) Blocks.COUNT.getAndAdd(counts, allocatedAt, (long) n));
                left = blocks.size - offset;
                if (left > 0) {
                    // Others may have entered the block again since, but slots have their places in each lap.
                    return Blocks.run(blocks.slot(head) + offset, Math.min(n, left));
                }
            }
            int nothing = enter(blocks.next(head));
            if (nothing != 0) {
                return nothing;
            }
        }
    }

    /** Enters a block, if all its slots are empty: the paper's {@code advance_phead}. */
    private int enter(long to) {
        int at = Blocks.at(to);
        long before = blocks.before(to);
        // Acquire ↔ Release of `emptied` in consumers: the items of the last lap are taken.
        if (blocks.get(at + Blocks.EMPTIED) < before) {
            return blocks.get(at + Blocks.RESERVED) < before ? Blocks.NOTHING : Blocks.YET;
        }
        blocks.advance(at + Blocks.ALLOCATED, Blocks.allocated(Blocks.lap(to)));
        blocks.advance(Blocks.PHEAD, to);
        return 0;
    }

    @Override
    public int push(Object[] items, Object item) {
        int slot = claim();
        if (slot < 0) {
            return slot;
        }
        items[slot] = item;
        publish(slot, 1);
        return 1;
    }

    @Override
    public void publish(int slot, int n) {
        int committedAt = Blocks.at(slot / blocks.size) + Blocks.COMMITTED;
        // Release ↔ Acquire of `committed` in consumers: the items.
        Blocks.COUNT.getAndAddRelease(counts, committedAt, (long) n);
    }
}

package corelane.ring;

import java.lang.invoke.VarHandle;

/** Several consumers (J. Wang 2024, §2.3): they take items by compare-and-swap. */
public final class SeveralConsumers extends Consumers {
    private static final int MOST_PAUSES = 256;

    private final Blocks blocks;
    private final long[] counts;
    /** Whether slots may be committed in another order than theirs. */
    private final boolean hasGaps;

    /** @param producers the other side */
    public SeveralConsumers(Blocks blocks, Producers producers) {
        this.blocks = blocks;
        hasGaps = producers instanceof SeveralProducers;
        counts = blocks.counts;
    }

    @Override
    public int reserve() {
        return (int) reserve(1);
    }

    @Override
    public long reserve(int wanted) {
        for (int pauses = 4;; pauses = Math.min(2 * pauses, MOST_PAUSES)) {
            // Acquire ↔ Release in `advance`: the items that made another consumer leave the block.
            long head = blocks.get(Blocks.CHEAD);
            int at = Blocks.at(head);
            long before = blocks.before(head);
            // Acquire ↔ Release of the exchange below: an item taken makes visible the items behind it that
            // its consumer had observed. Otherwise the queue would seem empty.
            long reserved = blocks.get(at + Blocks.RESERVED);
            int offset = (int) (reserved - before);
            if (reserved - before >= blocks.size) {
                blocks.advance(Blocks.CHEAD, blocks.next(head));
                continue;
            }
            long found = find(head, reserved);
            if (found <= reserved) {
                return found == reserved ? Blocks.NOTHING : Blocks.YET;
            }
            int n = (int) Math.min(wanted, found - reserved);
            if (Blocks.COUNT.weakCompareAndSetRelease(counts, at + Blocks.RESERVED, reserved, reserved + n)) {
                if (offset + n == blocks.size) {
                    blocks.advance(Blocks.CHEAD, blocks.next(head));
                }
                return Blocks.run(blocks.slot(head) + offset, n);
            }
            // A failed exchange takes the line from all others: let them proceed.
            for (int i = 0; i < pauses; i++) {
                Thread.onSpinWait();
            }
        }
    }

    /** The count behind the items of the head's block; {@code reserved} if none, less if there may be a gap. */
    private long find(long head, long reserved) {
        int at = Blocks.at(head);
        long before = blocks.before(head);
        // Acquire ↔ Release in producers' `publish`: the items. It may be of a later lap already.
        long committed = Math.min(blocks.get(at + Blocks.COMMITTED), before + blocks.size);
        if (hasGaps && committed - before < blocks.size) {
            long allocated = blocks.get(at + Blocks.ALLOCATED) - Blocks.allocated(Blocks.lap(head));
            if (allocated > committed - before) {
                return reserved - 1;
            }
        }
        return Math.max(committed, reserved);
    }

    @Override
    public Object pop(Object[] items) {
        int slot = reserve();
        if (slot < 0) {
            return slot == Blocks.YET ? YET : null;
        }
        Object item = items[slot];
        items[slot] = null;
        release(slot, 1);
        return item;
    }

    @Override
    public boolean isAtEnd() {
        return true;
    }

    @Override
    public void release(int slot, int n) {
        int at = Blocks.at(slot / blocks.size);
        // Release ↔ Acquire here, of the last consumer in the block: all items of the block are taken.
        long consumed = (long) Blocks.COUNT.getAndAdd(counts, at + Blocks.CONSUMED, (long) n) + n;
        if ((consumed & blocks.size - 1) == 0) {
            // Release ↔ Acquire in producers: all items of the block are taken.
            Blocks.COUNT.setRelease(counts, at + Blocks.EMPTIED, consumed);
        }
    }

    @Override
    public Object peek(Object[] items) {
        for (int i = 0;; i++) {
            long head = blocks.get(Blocks.CHEAD);
            int reservedAt = Blocks.at(head) + Blocks.RESERVED;
            long reserved = blocks.get(reservedAt);
            int offset = (int) (reserved - blocks.before(head));
            if (offset >= blocks.size) {
                blocks.advance(Blocks.CHEAD, blocks.next(head));
                continue;
            }
            long found = find(head, reserved);
            if (found == reserved) {
                return null;
            }
            if (found > reserved) {
                Object item = items[blocks.slot(head) + offset];
                VarHandle.acquireFence();
                if (item != null && blocks.get(reservedAt) == reserved) {
                    return item;
                }
            }
            Blocks.await(i);
        }
    }

    @Override
    public int size() {
        long taken = blocks.reserved();
        return Math.clamp(blocks.filled() - taken, 0, blocks.slots());
    }
}

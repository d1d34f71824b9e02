package corelane;

import corelane.ring.Blocks;
import corelane.ring.Consumers;
import corelane.ring.Overwriting;

/**
 * The block-based bounded queue of objects that overwrites ({@code bbq-drop-old}): a push into a full queue
 * drops the oldest items. For flight recorders, sampled metrics, and logs that must not stop the program.
 *
 * <p>Any number of threads may push and pop. Producers never wait for consumers, and don't read what they
 * write. Objects must not be changed after they have been pushed. The queue keeps references to popped and
 * dropped items until it overwrites them.
 *
 * <table>
 * <caption>What it guarantees</caption>
 * <tr><td>order</td><td>first in, first out, with gaps that are counted: {@link #lost}</td></tr>
 * <tr><td>capacity</td><td>as asked, or up to a block more: so many of the newest items are always kept</td></tr>
 * <tr><td>progress</td><td>a push waits if it needs a block into which a push of the last lap is unfinished</td></tr>
 * <tr><td>when not</td><td>if each item is needed, or if there are many more threads than cores</td></tr>
 * <tr><td>paper</td><td>J. Wang (2024), §2.4.3, drop-old</td></tr>
 * </table>
 */
public final class OverwritingQueue<E> extends ObjectQueue<E> {
    private final Overwriting ring;

    /** A queue that keeps at least the {@code capacity} newest items. */
    public OverwritingQueue(int capacity) {
        this(capacity, Strategy.SPIN_THEN_SLEEP);
    }

    /** A queue that keeps at least the {@code capacity} newest items. */
    public OverwritingQueue(int capacity, Strategy strategy) {
        this(new Overwriting(capacity), strategy);
    }

    OverwritingQueue(Overwriting ring, Strategy strategy) {
        super(ring.slots(), strategy);
        this.ring = ring;
    }

    /** Items that were overwritten, as far as pops have found out. */
    public long lost() {
        return ring.lost();
    }

    @Override
    int push(E item) {
        if (isClosed()) {
            return Blocks.NOTHING;
        }
        int slot = (int) ring.claim(1);
        if (slot < 0) {
            return slot;
        }
        items[slot] = item;
        ring.publish(slot, 1);
        return 1;
    }

    @Override
    int push(E[] from, int at, int wanted) {
        long run = ring.claim(wanted);
        int slot = (int) run;
        int n = (int) (run >> 32);
        if (slot < 0) {
            return slot;
        }
        System.arraycopy(from, at, items, slot, n);
        ring.publish(slot, n);
        return n;
    }

    @Override
    Object pop() {
        for (;;) {
            Overwriting.Run run = ring.reserve(1);
            if (run.slot() < 0) {
                return run == Overwriting.YET ? Consumers.YET : null;
            }
            Object item = items[run.slot()];
            if (ring.isIntact(run)) {
                return item;
            }
        }
    }

    @Override
    int pop(Object[] into, int at, int wanted) {
        for (;;) {
            Overwriting.Run run = ring.reserve(wanted);
            if (run.slot() < 0) {
                return run.slot();
            }
            System.arraycopy(items, run.slot(), into, at, run.n());
            if (ring.isIntact(run)) {
                return run.n();
            }
        }
    }

    @Override
    boolean isAtEnd() {
        return true;
    }

    /** Not supported: a producer may overwrite the item at once. */
    @Override
    public E peek() {
        throw new UnsupportedOperationException("the oldest item may be overwritten at once: use poll");
    }

    @Override
    public int capacity() {
        return ring.kept();
    }

    @Override
    public int size() {
        return ring.size();
    }
}

package corelane;

import corelane.ring.Blocks;
import corelane.ring.Consumers;
import corelane.ring.OneConsumer;
import corelane.ring.OneProducer;
import corelane.ring.Producers;
import corelane.ring.SeveralConsumers;
import corelane.ring.SeveralProducers;
import java.util.Arrays;

/**
 * The block-based bounded queue of objects ({@code bbq}).
 *
 * <p>The ring is divided into blocks with counters of their own. While producers and consumers are in
 * different blocks, neither side disturbs the other. Several producers take slots by fetch-and-add, several
 * consumers by compare-and-swap. A side that is one thread needs neither.
 *
 * <pre>{@code
 * try (var orders = BlockQueue.<Order>manyToOne(1024)) {
 *     Thread.ofVirtual().start(() -> orders.offer(new Order()));
 *     Order order = orders.take();
 * }
 * }</pre>
 *
 * <table>
 * <caption>What it guarantees</caption>
 * <tr><td>order</td><td>first in, first out</td></tr>
 * <tr><td>progress</td><td>one to one: wait-free. Otherwise a thread that is stopped inside a call can make
 * others wait: a push, pops from its block; a pop, pushes into its block</td></tr>
 * <tr><td>capacity</td><td>as asked, or up to S − 1 more, with S slots in a block (8 at least): so a queue for
 * one item takes more than one</td></tr>
 * <tr><td>when not</td><td>if many more threads than cores push one by one, each waits for the slowest push in
 * its block. Push arrays, or use a queue each</td></tr>
 * <tr><td>paper</td><td>J. Wang (2024), §2.3, §2.4</td></tr>
 * </table>
 */
public final class BlockQueue<E> extends ObjectQueue<E> {
    private final Blocks blocks;
    private final Producers producers;
    private final Consumers consumers;

    private BlockQueue(int capacity, boolean severalProducers, boolean severalConsumers, Strategy strategy) {
        this(Blocks.of(capacity), severalProducers, severalConsumers, strategy);
    }

    BlockQueue(Blocks blocks, boolean severalProducers, boolean severalConsumers, Strategy strategy) {
        super(blocks.slots(), strategy);
        this.blocks = blocks;
        producers = severalProducers ? new SeveralProducers(blocks) : OneProducer.of(blocks);
        consumers = severalConsumers ? new SeveralConsumers(blocks, producers) : OneConsumer.of(blocks, producers);
    }

    /** Between one thread that pushes and one that pops. */
    public static <E> BlockQueue<E> oneToOne(int capacity) {
        return oneToOne(capacity, Strategy.SPIN_THEN_SLEEP);
    }

    /** Between one thread that pushes and one that pops. */
    public static <E> BlockQueue<E> oneToOne(int capacity, Strategy strategy) {
        return new BlockQueue<>(capacity, false, false, strategy);
    }

    /** Between any number of threads that push and one that pops. */
    public static <E> BlockQueue<E> manyToOne(int capacity) {
        return manyToOne(capacity, Strategy.SPIN_THEN_SLEEP);
    }

    /** Between any number of threads that push and one that pops. */
    public static <E> BlockQueue<E> manyToOne(int capacity, Strategy strategy) {
        return new BlockQueue<>(capacity, true, false, strategy);
    }

    /** Between one thread that pushes and any number of threads that pop. */
    public static <E> BlockQueue<E> oneToMany(int capacity) {
        return oneToMany(capacity, Strategy.SPIN_THEN_SLEEP);
    }

    /** Between one thread that pushes and any number of threads that pop. */
    public static <E> BlockQueue<E> oneToMany(int capacity, Strategy strategy) {
        return new BlockQueue<>(capacity, false, true, strategy);
    }

    /** Between any number of threads on both sides. */
    public static <E> BlockQueue<E> manyToMany(int capacity) {
        return manyToMany(capacity, Strategy.SPIN_THEN_SLEEP);
    }

    /** Between any number of threads on both sides. */
    public static <E> BlockQueue<E> manyToMany(int capacity, Strategy strategy) {
        return new BlockQueue<>(capacity, true, true, strategy);
    }

    @Override
    int push(E item) {
        if (isClosed()) {
            return Blocks.NOTHING;
        }
        return producers.push(items, item);
    }

    @Override
    int push(E[] from, int at, int wanted) {
        long run = producers.claim(wanted);
        int slot = (int) run;
        int n = (int) (run >> 32);
        if (slot < 0) {
            return slot;
        }
        System.arraycopy(from, at, items, slot, n);
        producers.publish(slot, n);
        return n;
    }

    @Override
    Object pop() {
        return consumers.pop(items);
    }

    @Override
    int pop(Object[] into, int at, int wanted) {
        long run = consumers.reserve(wanted);
        int slot = (int) run;
        int n = (int) (run >> 32);
        if (slot < 0) {
            return slot;
        }
        try {
            System.arraycopy(items, slot, into, at, n);
        } finally {
            // Also if the array is of another type.
            Arrays.fill(items, slot, slot + n, null);
            consumers.release(slot, n);
        }
        return n;
    }

    @Override
    boolean isAtEnd() {
        return consumers.isAtEnd();
    }

    /** The oldest item, which remains; null if there is none. A thread that pops may call it. */
    @Override
    @SuppressWarnings("unchecked")
    public E peek() {
        return (E) consumers.peek(items);
    }

    @Override
    public int capacity() {
        return blocks.capacity();
    }

    @Override
    public int size() {
        return consumers.size();
    }
}

package corelane;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;

import corelane.ring.Blocks;
import corelane.ring.Consumers;
import corelane.ring.OneConsumer;
import corelane.ring.OneProducer;
import corelane.ring.Producers;
import corelane.ring.SeveralConsumers;
import corelane.ring.SeveralProducers;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/**
 * The block-based bounded queue for items of fixed size, off the heap: {@link BlockQueue} says what it
 * guarantees.
 *
 * <p>Each claimed place must be published, and each place that was peeked at be released, by the same thread.
 * With several consumers a peek takes the item: no other thread gets it.
 */
public final class BlockItemQueue extends ItemQueue {
    private static final long LINE = 64;

    private final Blocks blocks;
    private final Producers producers;
    private final Consumers consumers;
    /** The logarithm of the size if it is a power of two, otherwise -1: a division costs more than a push. */
    private final int shift;

    BlockItemQueue(
            long size, Blocks blocks, boolean severalProducers, boolean severalConsumers, Strategy strategy) {
        super(allocate(size, blocks.slots()), size, strategy);
        this.blocks = blocks;
        shift = Long.bitCount(size) == 1 ? Long.numberOfTrailingZeros(size) : -1;
        producers = severalProducers ? new SeveralProducers(blocks) : OneProducer.of(blocks);
        consumers = severalConsumers ? new SeveralConsumers(blocks, producers) : OneConsumer.of(blocks, producers);
    }

    static MemorySegment allocate(long size, int slots) {
        if (size <= 0) {
            throw new IllegalArgumentException("an item of " + size + " bytes is not possible");
        }
        return Arena.ofAuto().allocate(Math.multiplyExact(size, slots), LINE);
    }

    /** Between one thread that pushes and one that pops. */
    public static BlockItemQueue oneToOne(long size, int capacity) {
        return oneToOne(size, capacity, Strategy.SPIN_THEN_SLEEP);
    }

    /** Between one thread that pushes and one that pops. */
    public static BlockItemQueue oneToOne(long size, int capacity, Strategy strategy) {
        return new BlockItemQueue(size, Blocks.of(capacity), false, false, strategy);
    }

    /** Between any number of threads that push and one that pops. */
    public static BlockItemQueue manyToOne(long size, int capacity) {
        return manyToOne(size, capacity, Strategy.SPIN_THEN_SLEEP);
    }

    /** Between any number of threads that push and one that pops. */
    public static BlockItemQueue manyToOne(long size, int capacity, Strategy strategy) {
        return new BlockItemQueue(size, Blocks.of(capacity), true, false, strategy);
    }

    /** Between one thread that pushes and any number of threads that pop. */
    public static BlockItemQueue oneToMany(long size, int capacity) {
        return oneToMany(size, capacity, Strategy.SPIN_THEN_SLEEP);
    }

    /** Between one thread that pushes and any number of threads that pop. */
    public static BlockItemQueue oneToMany(long size, int capacity, Strategy strategy) {
        return new BlockItemQueue(size, Blocks.of(capacity), false, true, strategy);
    }

    /** Between any number of threads on both sides. */
    public static BlockItemQueue manyToMany(long size, int capacity) {
        return manyToMany(size, capacity, Strategy.SPIN_THEN_SLEEP);
    }

    /** Between any number of threads on both sides. */
    public static BlockItemQueue manyToMany(long size, int capacity, Strategy strategy) {
        return new BlockItemQueue(size, Blocks.of(capacity), true, true, strategy);
    }

    private int slot(long at) {
        return (int) (shift >= 0 ? at >> shift : at / size);
    }

    @Override
    long claimPlace() {
        int slot = producers.claim();
        return slot < 0 ? slot : slot * size;
    }

    @Override
    void publishPlace(long at) {
        producers.publish(slot(at), 1);
    }

    @Override
    long reservePlace() {
        int slot = consumers.reserve();
        return slot < 0 ? slot : slot * size;
    }

    @Override
    void releasePlace(long at) {
        release(slot(at), 1);
    }

    private void release(int slot, int n) {
        // Hand-back: a store to each line. So the consumer's core owns the line when the producer needs it next,
        // and the line then moves in one step: no shared copy has to be invalidated first.
        for (long at = slot * size, end = at + n * size; at < end; at += LINE) {
            memory.set(JAVA_BYTE, at, (byte) 0);
        }
        consumers.release(slot, n);
    }

    @Override
    boolean isAtEnd() {
        return consumers.isAtEnd();
    }

    @Override
    int push(MemorySegment items, long from, int wanted) {
        long run = producers.claim(wanted);
        int slot = (int) run;
        int n = (int) (run >> 32);
        if (slot < 0) {
            return slot;
        }
        MemorySegment.copy(items, from, memory, slot * size, n * size);
        producers.publish(slot, n);
        return n;
    }

    @Override
    int pop(MemorySegment into, long to, int wanted) {
        long run = consumers.reserve(wanted);
        int slot = (int) run;
        int n = (int) (run >> 32);
        if (slot < 0) {
            return slot;
        }
        MemorySegment.copy(memory, slot * size, into, to, n * size);
        release(slot, n);
        return n;
    }

    @Override
    int push(Action action, int wanted) {
        long run = producers.claim(wanted);
        int slot = (int) run;
        int n = (int) (run >> 32);
        if (slot < 0) {
            return slot;
        }
        int i = 0;
        try {
            for (; i < n; i++) {
                action.accept(memory, (slot + i) * size);
            }
        } finally {
            if (i < n && !(producers instanceof OneProducer)) {
                // Others wait for these places.
                memory.asSlice((slot + i) * size, (n - i) * size).fill((byte) 0);
                i = n;
            }
            producers.publish(slot, i);
        }
        return n;
    }

    @Override
    int pop(Action action, int wanted) {
        long run = consumers.reserve(wanted);
        int slot = (int) run;
        int n = (int) (run >> 32);
        if (slot < 0) {
            return slot;
        }
        int i = 0;
        try {
            for (; i < n; i++) {
                action.accept(memory, (slot + i) * size);
            }
        } finally {
            // Also the item at which the action threw. With several consumers, the others can't be put back.
            release(slot, i < n && consumers instanceof OneConsumer ? i + 1 : n);
        }
        return n;
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

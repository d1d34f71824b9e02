package corelane;

import corelane.ring.LineConsumer;
import corelane.ring.LineLayout;
import corelane.ring.LineProducer;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.VarHandle;

/**
 * A ring of cache lines for items of fixed size, between one thread that pushes and one that pops
 * ({@code linering}).
 *
 * <p>A line has a counter of its items beside them. A push writes the item and the counter, both in a line
 * that the producer's core already owns. So an item that the consumer waits for costs it one cache miss, and two in
 * other queues. Streams of many items a call are faster through {@link BlockItemQueue}.
 *
 * <table>
 * <caption>What it guarantees</caption>
 * <tr><td>order</td><td>first in, first out</td></tr>
 * <tr><td>progress</td><td>wait-free</td></tr>
 * <tr><td>capacity</td><td>as asked, rounded up to whole lines (7 longs to a line)</td></tr>
 * <tr><td>when not</td><td>for objects: {@link BlockQueue}; for several threads on a side:
 * {@link BlockItemQueue}</td></tr>
 * <tr><td>paper</td><td>none</td></tr>
 * </table>
 */
public final class LineQueue extends ItemQueue {
    private static final long READ_AT = 128;
    private static final long LINES_AT = 256;

    private final LineProducer producer;
    private final LineConsumer consumer;
    private final int capacity;
    private final int slots;

    /** A queue for at least {@code capacity} items of {@code size} bytes. */
    public LineQueue(long size, int capacity) {
        this(size, capacity, Strategy.SPIN_THEN_SLEEP);
    }

    /** A queue for at least {@code capacity} items of {@code size} bytes. */
    public LineQueue(long size, int capacity, Strategy strategy) {
        this(LineLayout.of(size, 1, capacity), strategy);
    }

    private LineQueue(LineLayout layout, Strategy strategy) {
        super(Arena.ofAuto().allocate(LINES_AT + layout.bytes() + LINES_AT, LINES_AT), layout.size(), strategy);
        layout.empty(memory, LINES_AT);
        producer = LineProducer.at(memory, layout, LINES_AT, READ_AT, 0);
        consumer = LineConsumer.at(memory, layout, LINES_AT, READ_AT, -1, 0);
        capacity = Math.toIntExact(layout.capacity());
        slots = Math.toIntExact(layout.lines() * layout.n());
    }

    @Override
    long claimPlace() {
        return producer.claim();
    }

    @Override
    void publishPlace(long at) {
        producer.publish(1);
    }

    @Override
    long reservePlace() {
        return consumer.peek();
    }

    @Override
    void releasePlace(long at) {
        consumer.release(1);
    }

    @Override
    boolean isAtEnd() {
        return consumer.isAtEnd();
    }

    @Override
    int push(MemorySegment items, long from, int n) {
        int pushed = producer.push(items, from, n);
        return pushed == 0 ? -1 : pushed;
    }

    @Override
    int pop(MemorySegment into, long to, int n) {
        int popped = consumer.pop(into, to, n);
        return popped == 0 ? -1 : popped;
    }

    @Override
    int push(Action action, int n) {
        long at = producer.claim();
        if (at < 0) {
            return -1;
        }
        int run = Math.min(n, producer.run());
        int i = 0;
        try {
            for (; i < run; i++) {
                action.accept(memory, at + i * size);
            }
        } finally {
            producer.publish(i);
        }
        return run;
    }

    @Override
    int pop(Action action, int n) {
        long at = consumer.peekRun();
        if (at < 0) {
            return -1;
        }
        int run = Math.min(n, consumer.run());
        int i = 0;
        try {
            for (; i < run; i++) {
                action.accept(memory, at + i * size);
            }
        } finally {
            // Also the item at which the action threw.
            consumer.release(Math.min(i + 1, run));
        }
        return run;
    }

    @Override
    public int capacity() {
        return capacity;
    }

    @Override
    public int size() {
        // Otherwise a loop might read it only once.
        VarHandle.acquireFence();
        long popped = consumer.position();
        return Math.clamp(producer.position() - popped, 0, slots);
    }
}

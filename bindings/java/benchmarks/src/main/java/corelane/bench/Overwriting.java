package corelane.bench;

import com.google.common.collect.EvictingQueue;
import com.google.common.collect.Queues;
import corelane.OverwritingQueue;
import java.util.Queue;
import java.util.concurrent.TimeUnit;
import org.apache.commons.collections4.QueueUtils;
import org.apache.commons.collections4.queue.CircularFifoQueue;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Group;
import org.openjdk.jmh.annotations.GroupThreads;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.Warmup;

/**
 * Queues that overwrite (J. Wang 2024, §2.6.2.3): producers without a consumer, and beside one. Guava's and
 * Commons' queues are behind a lock, as each says that several threads need.
 */
@State(Scope.Group)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 5, time = 1)
@Fork(3)
public class Overwriting {
    private static final Long ITEM = 1L;

    @Param({"blocks", "EvictingQueue", "CircularFifoQueue"})
    public String queue;

    @Param("4096")
    public int capacity;

    private Queue<Long> q;

    @Setup
    public void setup() {
        q = switch (queue) {
            case "blocks" -> new OverwritingQueue<>(capacity);
            case "EvictingQueue" -> Queues.synchronizedQueue(EvictingQueue.create(capacity));
            case "CircularFifoQueue" -> QueueUtils.synchronizedQueue(new CircularFifoQueue<>(capacity));
            default -> throw new IllegalArgumentException(queue);
        };
    }

    @Benchmark
    @Group("producer1")
    @GroupThreads(1)
    public boolean alone() {
        return q.offer(ITEM);
    }

    @Benchmark
    @Group("producers2")
    @GroupThreads(2)
    public boolean two() {
        return q.offer(ITEM);
    }

    @Benchmark
    @Group("producers8")
    @GroupThreads(8)
    public boolean eight() {
        return q.offer(ITEM);
    }

    @Benchmark
    @Group("besideAConsumer")
    @GroupThreads(1)
    public boolean offer() {
        return q.offer(ITEM);
    }

    @Benchmark
    @Group("besideAConsumer")
    @GroupThreads(1)
    public Object poll() {
        return q.poll();
    }
}

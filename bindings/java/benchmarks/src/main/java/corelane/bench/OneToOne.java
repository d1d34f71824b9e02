package corelane.bench;

import corelane.BlockQueue;
import java.util.Queue;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.LinkedTransferQueue;
import java.util.concurrent.TimeUnit;
import org.agrona.concurrent.OneToOneConcurrentArrayQueue;
import org.jctools.queues.SpscArrayQueue;
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
import org.openjdk.jmh.infra.Control;

/** One thread offers, one polls; each repeats a call that failed. */
@State(Scope.Group)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 5, time = 1)
@Fork(value = 3, jvmArgsAppend = "--add-opens=java.base/jdk.internal.misc=ALL-UNNAMED")
public class OneToOne {
    private static final Long ITEM = 1L;

    @Param({"blocks", "jctools", "agrona", "ArrayBlockingQueue", "LinkedTransferQueue"})
    public String queue;

    @Param("4096")
    public int capacity;

    private Queue<Long> q;

    @Setup
    public void setup() {
        q = switch (queue) {
            case "blocks" -> BlockQueue.oneToOne(capacity);
            case "jctools" -> new SpscArrayQueue<>(capacity);
            case "agrona" -> new OneToOneConcurrentArrayQueue<>(capacity);
            case "ArrayBlockingQueue" -> new ArrayBlockingQueue<>(capacity);
            case "LinkedTransferQueue" -> new LinkedTransferQueue<>();
            default -> throw new IllegalArgumentException(queue);
        };
    }

    @Benchmark
    @Group("one")
    @GroupThreads(1)
    public void offer(Control control) {
        while (!control.stopMeasurement && !q.offer(ITEM)) {
            Thread.onSpinWait();
        }
    }

    @Benchmark
    @Group("one")
    @GroupThreads(1)
    public void poll(Control control) {
        while (!control.stopMeasurement && q.poll() == null) {
            Thread.onSpinWait();
        }
    }
}

package corelane.stress;

import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static org.openjdk.jcstress.annotations.Expect.ACCEPTABLE;
import static org.openjdk.jcstress.annotations.Expect.FORBIDDEN;

import corelane.BlockItemQueue;
import corelane.ItemQueue;
import corelane.LineQueue;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.JJ_Result;
import org.openjdk.jcstress.infra.results.Z_Result;

/** Queues of items off the heap. */
public final class Items {
    private Items() {}

    private static boolean push(ItemQueue queue, long number) {
        long at = queue.tryClaim();
        if (at < 0) {
            return false;
        }
        queue.memory().set(JAVA_LONG, at, number);
        queue.publish(at);
        return true;
    }

    private static long pop(ItemQueue queue) {
        long at = queue.tryPeek();
        if (at < 0) {
            return -1;
        }
        long number = queue.memory().get(JAVA_LONG, at);
        queue.release(at);
        return number;
    }

    /** Where the next item is the last of its line, or of its block. */
    private static ItemQueue moved(ItemQueue queue, int before) {
        for (int i = 0; i < before; i++) {
            push(queue, 9);
            pop(queue);
        }
        return queue;
    }

    @JCStressTest
    @State
    @Outcome(id = {"-1, -1", "-1, 1", "1, -1", "1, 2"}, expect = ACCEPTABLE, desc = "in order")
    @Outcome(expect = FORBIDDEN, desc = "reordered, lost, or not published")
    public static class LineOrder {
        final ItemQueue queue = moved(new LineQueue(8, 1), 6);

        @Actor
        public void producer() {
            push(queue, 1);
            push(queue, 2);
        }

        @Actor
        public void consumer(JJ_Result r) {
            r.r1 = pop(queue);
            r.r2 = pop(queue);
        }
    }

    @JCStressTest
    @State
    @Outcome(id = "true", expect = ACCEPTABLE, desc = "each item once, in order")
    @Outcome(expect = FORBIDDEN, desc = "lost, doubled, or overwritten")
    public static class LineFull {
        final ItemQueue queue = new LineQueue(8, 1);
        int filled;
        long pushed;
        long next;
        boolean isInOrder = true;

        public LineFull() {
            while (push(queue, filled)) {
                filled++;
            }
            pushed = filled;
        }

        @Actor
        public void producer() {
            for (int i = 0; i < 3; i++) {
                if (push(queue, pushed)) {
                    pushed++;
                }
            }
        }

        @Actor
        public void consumer() {
            for (int i = 0; i < 9; i++) {
                isInOrder &= pop(queue) == next++;
            }
        }

        @Arbiter
        public void arbiter(Z_Result r) {
            for (long number = pop(queue); number >= 0; number = pop(queue)) {
                isInOrder &= number == next++;
            }
            r.r1 = isInOrder && next == pushed;
        }
    }

    @JCStressTest
    @State
    @Outcome(id = {"-1, -1", "-1, 1", "1, -1", "1, 2"}, expect = ACCEPTABLE, desc = "in order")
    @Outcome(expect = FORBIDDEN, desc = "reordered, lost, or not published")
    public static class BlockOrder {
        final ItemQueue queue = moved(BlockItemQueue.oneToOne(8, 1), 7);

        @Actor
        public void producer() {
            push(queue, 1);
            push(queue, 2);
        }

        @Actor
        public void consumer(JJ_Result r) {
            r.r1 = pop(queue);
            r.r2 = pop(queue);
        }
    }
}

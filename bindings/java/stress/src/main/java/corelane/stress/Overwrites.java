package corelane.stress;

import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static org.openjdk.jcstress.annotations.Expect.ACCEPTABLE;
import static org.openjdk.jcstress.annotations.Expect.FORBIDDEN;

import corelane.OverwritingItemQueue;
import corelane.OverwritingQueue;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.ZZ_Result;

/** Queues that overwrite: a producer overtakes a consumer during its copy. */
public final class Overwrites {
    private static final int PUSHES = 40;

    private Overwrites() {}

    @JCStressTest
    @State
    @Outcome(id = "true, true", expect = ACCEPTABLE, desc = "in order, each item popped or lost")
    @Outcome(expect = FORBIDDEN, desc = "an overwritten item was popped, or the count is wrong")
    public static class Objects {
        final OverwritingQueue<Box> queue = new OverwritingQueue<>(1);
        boolean isInOrder = true;
        int last;
        int popped;

        @Actor
        public void producer() {
            for (int i = 1; i <= PUSHES; i++) {
                queue.offer(new Box(i));
            }
        }

        private void pop() {
            Box box = queue.poll();
            if (box != null) {
                isInOrder &= box.number > last;
                last = box.number;
                popped++;
            }
        }

        @Actor
        public void consumer() {
            for (int i = 0; i < 8; i++) {
                pop();
            }
        }

        @Arbiter
        public void arbiter(ZZ_Result r) {
            while (!queue.isEmpty()) {
                pop();
            }
            r.r1 = isInOrder;
            r.r2 = popped + queue.lost() == PUSHES;
        }
    }

    @JCStressTest
    @State
    @Outcome(id = "true, true", expect = ACCEPTABLE, desc = "whole, each item popped or lost")
    @Outcome(expect = FORBIDDEN, desc = "halves of two items, or the count is wrong")
    public static class Items {
        final OverwritingItemQueue queue = new OverwritingItemQueue(16, 1);
        final MemorySegment in = Arena.ofAuto().allocate(16, 8);
        final MemorySegment out = Arena.ofAuto().allocate(16, 8);
        boolean isWhole = true;
        long last;
        int popped;

        @Actor
        public void producer() {
            for (long i = 1; i <= PUSHES; i++) {
                in.set(JAVA_LONG, 0, i);
                in.set(JAVA_LONG, 8, i);
                queue.push(in);
            }
        }

        private boolean pop() {
            boolean found = queue.tryPop(out);
            if (found) {
                long number = out.get(JAVA_LONG, 0);
                isWhole &= number > last && number == out.get(JAVA_LONG, 8);
                last = number;
                popped++;
            }
            return found;
        }

        @Actor
        public void consumer() {
            for (int i = 0; i < 8; i++) {
                pop();
            }
        }

        @Arbiter
        public void arbiter(ZZ_Result r) {
            while (pop()) {}
            r.r1 = isWhole;
            r.r2 = popped + queue.lost() == PUSHES;
        }
    }
}

package corelane.stress;

import static org.openjdk.jcstress.annotations.Expect.ACCEPTABLE;
import static org.openjdk.jcstress.annotations.Expect.FORBIDDEN;

import corelane.BlockQueue;
import corelane.ClosedException;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Mode;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.Signal;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.II_Result;
import org.openjdk.jcstress.infra.results.ZZ_Result;
import org.openjdk.jcstress.infra.results.Z_Result;

/**
 * The block-based queues. Blocks have eight slots, and a queue for one item has two of them: so each test
 * begins where one of its calls enters the next block.
 */
public final class Blocks {
    private Blocks() {}

    /** Moves the queue on, so that {@code before} slots of the first block are used. */
    private static BlockQueue<Box> moved(BlockQueue<Box> queue, int before) {
        for (int i = 0; i < before; i++) {
            queue.offer(new Box(0));
            queue.poll();
        }
        return queue;
    }

    /** Fills the queue with the numbers from 0 on. */
    private static int fill(BlockQueue<Box> queue) {
        int n = 0;
        while (queue.offer(new Box(n))) {
            n++;
        }
        return n;
    }

    @JCStressTest
    @State
    @Outcome(id = {"-1, -1", "-1, 1", "1, -1", "1, 2"}, expect = ACCEPTABLE, desc = "in order")
    @Outcome(expect = FORBIDDEN, desc = "reordered, lost, or not published")
    public static class OneToOneOrder {
        final BlockQueue<Box> queue = moved(BlockQueue.oneToOne(1), 7);

        @Actor
        public void producer() {
            queue.offer(new Box(1));
            queue.offer(new Box(2));
        }

        @Actor
        public void consumer(II_Result r) {
            r.r1 = Box.of(queue.poll());
            r.r2 = Box.of(queue.poll());
        }
    }

    @JCStressTest
    @State
    @Outcome(id = "true, true", expect = ACCEPTABLE, desc = "each item once, in order")
    @Outcome(expect = FORBIDDEN, desc = "lost, doubled, or overwritten")
    public static class OneToOneFull {
        final BlockQueue<Box> queue = BlockQueue.oneToOne(1);
        final int filled = fill(queue);
        final int[] popped = new int[filled];
        int last = filled - 1;

        /** Pushes a block's items, as soon as there is one. */
        @Actor
        public void producer() {
            for (int i = 0; i < 200 && last < filled + 7; i++) {
                if (queue.offer(new Box(last + 1))) {
                    last++;
                }
            }
        }

        /** Pops a block's items and one more, slowly at its end. */
        @Actor
        public void consumer() {
            for (int i = 0; i < 9; i++) {
                if (i > 5) {
                    for (int spin = 0; spin < 10; spin++) {
                        Thread.onSpinWait();
                    }
                }
                popped[i] = Box.of(queue.poll());
            }
        }

        @Arbiter
        public void arbiter(ZZ_Result r) {
            r.r1 = true;
            for (int i = 0; i < 9; i++) {
                r.r1 &= popped[i] == i;
            }
            r.r2 = Moved.areAll(queue, 9, last);
        }
    }

    @JCStressTest
    @State
    @Outcome(id = "true", expect = ACCEPTABLE, desc = "each item once")
    @Outcome(expect = FORBIDDEN, desc = "lost or doubled")
    public static class ManyToOne {
        final BlockQueue<Box> queue = moved(BlockQueue.manyToOne(1), 6);
        int popped1;
        int popped2;

        @Actor
        public void producer() {
            queue.offer(new Box(1));
            queue.offer(new Box[] {new Box(2), new Box(3)}, 0, 2);
        }

        @Actor
        public void both() {
            queue.offer(new Box(4));
            popped1 = Box.of(queue.poll());
            queue.offer(new Box(5));
            popped2 = Box.of(queue.poll());
        }

        @Arbiter
        public void arbiter(Z_Result r) {
            r.r1 = popped1 >= 0 && popped2 >= 0 && Moved.areAll(queue, 1, 5, popped1, popped2);
        }
    }

    @JCStressTest
    @State
    @Outcome(id = "true", expect = ACCEPTABLE, desc = "each item once")
    @Outcome(expect = FORBIDDEN, desc = "lost or doubled")
    public static class OneToMany {
        final BlockQueue<Box> queue = moved(BlockQueue.oneToMany(1), 6);
        final Box[] popped1 = new Box[2];
        int popped2;

        public OneToMany() {
            queue.offer(new Box(1));
            queue.offer(new Box(2));
        }

        @Actor
        public void both() {
            queue.offer(new Box(3));
            queue.poll(popped1, 0, 2);
        }

        @Actor
        public void consumer() {
            popped2 = Box.of(queue.poll());
        }

        @Arbiter
        public void arbiter(Z_Result r) {
            r.r1 = popped2 >= 0 && Moved.areAll(queue, 1, 3, Box.of(popped1[0]), Box.of(popped1[1]), popped2);
        }
    }

    @JCStressTest
    @State
    @Outcome(id = "true", expect = ACCEPTABLE, desc = "each item once")
    @Outcome(expect = FORBIDDEN, desc = "lost, doubled, or overwritten")
    public static class ManyToManyFull {
        final BlockQueue<Box> queue = BlockQueue.manyToMany(1);
        final int filled = fill(queue);
        final int[] popped1 = new int[6];
        final int[] popped2 = new int[6];

        private void run(int[] popped, int number) {
            for (int i = 0; i < 5; i++) {
                popped[i] = Box.of(queue.poll());
            }
            // A refused item counts as popped.
            popped[5] = queue.offer(new Box(number)) ? -1 : number;
        }

        @Actor
        public void actor1() {
            run(popped1, filled);
        }

        @Actor
        public void actor2() {
            run(popped2, filled + 1);
        }

        @Arbiter
        public void arbiter(Z_Result r) {
            int[] popped = java.util.Arrays.copyOf(popped1, 12);
            System.arraycopy(popped2, 0, popped, 6, 6);
            r.r1 = Moved.areAll(queue, 0, filled + 1, popped);
        }
    }

    /** A thread that has pushed finds the queue not empty, whatever another producer is doing. */
    @JCStressTest
    @State
    @Outcome(id = "true", expect = ACCEPTABLE, desc = "an item is there")
    @Outcome(expect = FORBIDDEN, desc = "empty after a push")
    public static class NotEmptyAfterAPush {
        final BlockQueue<Box> queue = moved(BlockQueue.manyToMany(1), 7);

        @Actor
        public void other() {
            queue.offer(new Box(1));
        }

        @Actor
        public void both(Z_Result r) {
            queue.offer(new Box(2));
            r.r1 = queue.poll() != null;
        }
    }

    @JCStressTest(Mode.Termination)
    @State
    @Outcome(id = "TERMINATED", expect = ACCEPTABLE, desc = "woken")
    @Outcome(id = "STALE", expect = FORBIDDEN, desc = "asleep for ever")
    public static class Wakes {
        final BlockQueue<Box> queue = BlockQueue.oneToOne(1);

        @Actor
        public void consumer() throws InterruptedException {
            queue.take();
        }

        @Signal
        public void producer() {
            queue.offer(new Box(1));
        }
    }

    @JCStressTest(Mode.Termination)
    @State
    @Outcome(id = "TERMINATED", expect = ACCEPTABLE, desc = "woken")
    @Outcome(id = "STALE", expect = FORBIDDEN, desc = "asleep for ever")
    public static class CloseWakes {
        final BlockQueue<Box> queue = BlockQueue.oneToOne(1);

        @Actor
        public void consumer() throws InterruptedException {
            try {
                queue.take();
            } catch (ClosedException end) {
                // As it should be.
            }
        }

        @Signal
        public void producer() {
            queue.close();
        }
    }
}

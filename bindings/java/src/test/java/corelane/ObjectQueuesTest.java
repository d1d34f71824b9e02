package corelane;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import corelane.ring.Blocks;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;

/** What holds for all queues of objects that lose nothing, and for the calls that wait. */
@Timeout(120)
class ObjectQueuesTest {
    /** Producers and consumers for which a queue is made. */
    enum Shape {
        ONE_TO_ONE(false, false),
        MANY_TO_ONE(true, false),
        ONE_TO_MANY(false, true),
        MANY_TO_MANY(true, true);

        final boolean severalProducers;
        final boolean severalConsumers;

        Shape(boolean severalProducers, boolean severalConsumers) {
            this.severalProducers = severalProducers;
            this.severalConsumers = severalConsumers;
        }

        <E> BlockQueue<E> queue(int capacity) {
            return queue(capacity, Strategy.SPIN_THEN_SLEEP);
        }

        <E> BlockQueue<E> queue(int capacity, Strategy strategy) {
            return switch (this) {
                case ONE_TO_ONE -> BlockQueue.oneToOne(capacity, strategy);
                case MANY_TO_ONE -> BlockQueue.manyToOne(capacity, strategy);
                case ONE_TO_MANY -> BlockQueue.oneToMany(capacity, strategy);
                case MANY_TO_MANY -> BlockQueue.manyToMany(capacity, strategy);
            };
        }

        BlockQueue<Integer> late(int capacity, long laps) {
            return new BlockQueue<>(
                    Blocks.of(capacity, laps), severalProducers, severalConsumers, Strategy.SPIN_THEN_SLEEP);
        }
    }

    @ParameterizedTest
    @EnumSource
    void takesWhatWasPromisedInUseAsWhenNew(Shape shape) {
        for (int capacity : new int[] {1, 2, 3, 7, 8, 9, 64, 100, 1000}) {
            BlockQueue<Integer> queue = shape.queue(capacity);
            assertTrue(queue.capacity() >= capacity);
            for (int popped = 0; popped < 3 * queue.capacity(); popped++) {
                while (queue.size() < capacity) {
                    assertTrue(queue.offer(popped), shape + " for " + capacity);
                }
                assertNotNull(queue.poll());
            }
        }
    }

    private static void mix(BlockQueue<Integer> queue, Random random, int steps) {
        ArrayDeque<Integer> model = new ArrayDeque<>();
        Integer[] many = new Integer[50];
        int next = 0;
        for (int step = 0; step < steps; step++) {
            int n = random.nextInt(many.length);
            switch (random.nextInt(6)) {
                case 0, 1 -> {
                    boolean pushed = queue.offer(next);
                    assertTrue(pushed || model.size() >= queue.capacity());
                    if (pushed) {
                        model.add(next++);
                    }
                }
                case 2 -> {
                    for (int i = 0; i < n; i++) {
                        many[i] = next + i;
                    }
                    int pushed = queue.offer(many, 0, n);
                    assertTrue(pushed >= Math.min(n, queue.capacity() - model.size()));
                    for (int i = 0; i < pushed; i++) {
                        model.add(next++);
                    }
                }
                case 3 -> {
                    int popped = queue.poll(many, 0, n);
                    assertEquals(Math.min(n, model.size()), popped);
                    for (int i = 0; i < popped; i++) {
                        assertEquals(model.poll(), many[i]);
                    }
                }
                default -> {
                    assertEquals(model.peek(), queue.peek());
                    assertEquals(model.poll(), queue.poll());
                }
            }
            assertEquals(model.size(), queue.size());
            assertEquals(model.isEmpty(), queue.isEmpty());
        }
    }

    @ParameterizedTest
    @EnumSource
    void isFirstInFirstOut(Shape shape) {
        Random random = new Random(7);
        for (int capacity : new int[] {1, 5, 8, 20, 100, 300}) {
            mix(shape.queue(capacity), random, 3000);
        }
    }

    @ParameterizedTest
    @EnumSource
    void countersWrap(Shape shape) {
        for (long laps : new long[] {(1L << 31) - 3, (1L << 32) - 3, (1L << 33) - 3}) {
            mix(shape.late(5, laps), new Random(laps), 3000);
        }
    }

    @ParameterizedTest
    @EnumSource
    void refusesNothing(Shape shape) {
        BlockQueue<Integer> queue = shape.queue(10);
        assertThrows(NullPointerException.class, () -> queue.offer(null));
        assertThrows(NullPointerException.class, () -> queue.offer(new Integer[] {1, null}, 0, 2));
        assertTrue(queue.isEmpty());
        assertThrows(IllegalArgumentException.class, () -> shape.queue(0));
        assertThrows(IllegalArgumentException.class, () -> queue.drainTo(queue));
        assertThrows(NullPointerException.class, () -> queue.drainTo(null));
        assertFalse(queue.remove(7));
        assertThrows(UnsupportedOperationException.class, queue::iterator);
    }

    @ParameterizedTest
    @EnumSource
    void forgetsPoppedItems(Shape shape) throws InterruptedException {
        BlockQueue<Object> queue = shape.queue(10);
        var item = new java.lang.ref.WeakReference<>(new Object());
        queue.offer(item.get());
        queue.poll();
        for (int i = 0; i < 100 && item.get() != null; i++) {
            System.gc();
            Thread.sleep(10);
        }
        assertNull(item.get());
    }

    @ParameterizedTest
    @EnumSource
    void closes(Shape shape) throws InterruptedException {
        BlockQueue<Integer> queue = shape.queue(10);
        queue.put(1);
        queue.close();
        queue.close();
        assertFalse(queue.offer(2));
        assertEquals(0, queue.offer(new Integer[] {2}, 0, 1));
        assertThrows(ClosedException.class, () -> queue.put(2));
        assertEquals(1, queue.take());
        assertThrows(ClosedException.class, queue::take);
        assertThrows(ClosedException.class, () -> queue.poll(1, TimeUnit.DAYS));
        assertNull(queue.poll());
    }

    static Stream<Strategy> strategies() {
        return Stream.of(Strategy.values());
    }

    @ParameterizedTest
    @MethodSource("strategies")
    void closingWakesSleepers(Strategy strategy) throws InterruptedException {
        BlockQueue<Integer> empty = BlockQueue.manyToMany(10, strategy);
        BlockQueue<Integer> full = BlockQueue.manyToMany(10, strategy);
        while (full.offer(1)) {}
        AtomicInteger woken = new AtomicInteger();
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            threads.add(Thread.startVirtualThread(() -> {
                assertThrows(ClosedException.class, empty::take);
                woken.incrementAndGet();
            }));
            threads.add(Thread.ofPlatform().start(() -> {
                assertThrows(ClosedException.class, () -> full.put(2));
                woken.incrementAndGet();
            }));
        }
        Thread.sleep(20);
        empty.close();
        full.close();
        for (Thread thread : threads) {
            thread.join();
        }
        assertEquals(6, woken.get());
    }

    @Test
    void timesAreKeptAndInterruptsHeard() throws InterruptedException {
        BlockQueue<Integer> queue = BlockQueue.oneToOne(1);
        long begin = System.nanoTime();
        assertNull(queue.poll(30, TimeUnit.MILLISECONDS));
        assertTrue(System.nanoTime() - begin >= 30_000_000);
        while (queue.offer(1)) {}
        assertFalse(queue.offer(1, 10, TimeUnit.MILLISECONDS));
        assertNotNull(queue.poll(0, TimeUnit.NANOSECONDS));
        queue.clear();
        Thread.currentThread().interrupt();
        assertThrows(InterruptedException.class, queue::take);
        assertFalse(Thread.interrupted());
    }

    /** Moves numbers through the queue, in threads of both kinds; each consumer sees each producer's in order. */
    private static void stream(
            BlockQueue<Long> queue, int producers, int consumers, int items, int batch, Thread.Builder builder)
            throws InterruptedException {
        AtomicLong sum = new AtomicLong();
        AtomicInteger faults = new AtomicInteger();
        List<Thread> senders = new ArrayList<>();
        List<Thread> receivers = new ArrayList<>();
        for (int p = 0; p < producers; p++) {
            long tag = (long) p << 32;
            senders.add(builder.start(() -> {
                try {
                    Long[] some = new Long[batch];
                    for (int i = 0; i < items;) {
                        if (i % 3 == 0) {
                            queue.put(tag | i++);
                            continue;
                        }
                        int n = Math.min(batch, items - i);
                        for (int j = 0; j < n; j++) {
                            some[j] = tag | i + j;
                        }
                        int pushed = queue.offer(some, 0, n);
                        i += pushed;
                        if (pushed == 0) {
                            // Virtual threads that only yield can keep others from starting.
                            LockSupport.parkNanos(1000);
                        }
                    }
                } catch (InterruptedException error) {
                    faults.incrementAndGet();
                }
            }));
        }
        for (int c = 0; c < consumers; c++) {
            receivers.add(builder.start(() -> {
                long[] last = new long[producers];
                Long[] some = new Long[batch];
                java.util.Arrays.fill(last, -1);
                try {
                    for (;;) {
                        int n = queue.poll(some, 0, batch);
                        if (n == 0) {
                            some[0] = queue.take();
                            n = 1;
                        }
                        for (int i = 0; i < n; i++) {
                            int producer = (int) (some[i] >> 32);
                            int number = some[i].intValue();
                            if (number <= last[producer]) {
                                faults.incrementAndGet();
                            }
                            last[producer] = number;
                            sum.addAndGet(number + 1);
                        }
                    }
                } catch (ClosedException | InterruptedException end) {
                    // All items are popped.
                }
            }));
        }
        for (Thread thread : senders) {
            thread.join();
        }
        queue.close();
        for (Thread thread : receivers) {
            thread.join();
        }
        assertEquals(0, faults.get());
        assertEquals((long) producers * items * (items + 1L) / 2, sum.get());
    }

    @ParameterizedTest
    @EnumSource
    void streamsBetweenThreads(Shape shape) throws InterruptedException {
        int producers = shape.severalProducers ? 4 : 1;
        int consumers = shape.severalConsumers ? 4 : 1;
        for (int capacity : new int[] {1, 30, 1000}) {
            for (int batch : new int[] {1, 7, 100}) {
                for (Thread.Builder builder : List.of(Thread.ofPlatform(), Thread.ofVirtual())) {
                    stream(shape.queue(capacity), producers, consumers, 20_000, batch, builder);
                }
            }
        }
    }

    @ParameterizedTest
    @EnumSource
    void streamsWithSleeps(Shape shape) throws InterruptedException {
        int producers = shape.severalProducers ? 3 : 1;
        int consumers = shape.severalConsumers ? 3 : 1;
        stream(shape.queue(4, Strategy.SLEEP), producers, consumers, 20_000, 2, Thread.ofVirtual());
    }

    /** Sleepers leave their carriers: otherwise the pushing thread would never run. */
    @Test
    void virtualThreadsLeaveTheirCarriers() throws InterruptedException {
        BlockQueue<Integer> queue = BlockQueue.manyToMany(2000);
        int sleepers = 1000;
        CountDownLatch done = new CountDownLatch(sleepers);
        for (int i = 0; i < sleepers; i++) {
            Thread.startVirtualThread(() -> {
                try {
                    queue.take();
                    done.countDown();
                } catch (InterruptedException error) {
                    throw new IllegalStateException(error);
                }
            });
        }
        Thread.sleep(50);
        Thread.startVirtualThread(() -> {
            for (int i = 0; i < sleepers; i++) {
                queue.offer(i);
            }
        });
        assertTrue(done.await(60, TimeUnit.SECONDS));
    }

    /** Room comes a block at a time: all producers that sleep are woken, by one another. */
    @Test
    void allProducersAreWoken() throws InterruptedException {
        BlockQueue<Integer> queue = BlockQueue.manyToOne(9, Strategy.SLEEP);
        while (queue.offer(0)) {}
        CountDownLatch done = new CountDownLatch(8);
        for (int i = 0; i < 8; i++) {
            Thread.startVirtualThread(() -> {
                try {
                    queue.put(1);
                    done.countDown();
                } catch (InterruptedException error) {
                    throw new IllegalStateException(error);
                }
            });
        }
        Thread.sleep(100);
        for (int i = 0; i < 8; i++) {
            assertEquals(0, queue.poll());
        }
        assertTrue(done.await(60, TimeUnit.SECONDS));
    }

    /** Runs an action in another thread until the test is over. */
    private static Thread repeat(CountDownLatch end, Runnable action) {
        return Thread.ofPlatform().start(() -> {
            while (end.getCount() > 0) {
                action.run();
            }
        });
    }

    /** While another thread's push is unfinished, finished ones are found. */
    @Test
    void peekWaitsForUnfinishedPushes() throws InterruptedException {
        for (Shape shape : List.of(Shape.MANY_TO_ONE, Shape.MANY_TO_MANY)) {
            BlockQueue<Integer> queue = shape.queue(100);
            CountDownLatch end = new CountDownLatch(1);
            Thread other = repeat(end, () -> {
                if (queue.size() < 20) {
                    queue.offer(1);
                }
            });
            for (int i = 0; i < 200_000; i++) {
                assertTrue(queue.offer(2));
                assertNotNull(queue.peek());
                assertNotNull(queue.poll());
                if (queue.size() > 30) {
                    queue.poll();
                }
            }
            end.countDown();
            other.join();
        }
    }

    /** A consumer that is stopped in a pop makes the producer wait, not refuse. */
    @Test
    void offersWaitForUnfinishedPops() throws InterruptedException {
        BlockQueue<Integer> queue = BlockQueue.oneToMany(9);
        CountDownLatch end = new CountDownLatch(1);
        AtomicInteger inside = new AtomicInteger();
        List<Thread> others = new ArrayList<>();
        for (int i = 0; i < 2; i++) {
            others.add(repeat(end, () -> {
                if (queue.poll() != null) {
                    inside.decrementAndGet();
                }
            }));
        }
        for (int i = 0; i < 200_000; i++) {
            while (inside.get() > 4) {
                Thread.yield();
            }
            inside.incrementAndGet();
            assertTrue(queue.offer(i));
        }
        end.countDown();
        for (Thread thread : others) {
            thread.join();
        }
    }

    @ParameterizedTest
    @EnumSource
    void arraysOfAnotherTypeLeaveTheQueueUsable(Shape shape) {
        BlockQueue<Object> queue = shape.queue(8);
        for (int i = 0; i < 3; i++) {
            queue.offer(i);
        }
        assertThrows(ArrayStoreException.class, () -> queue.poll(new String[3], 0, 3));
        for (int i = 0; i < 3 * queue.capacity(); i++) {
            assertTrue(queue.offer(i));
            assertEquals(i, queue.poll());
        }
    }

    @Test
    void isAPoolsQueue() throws InterruptedException {
        AtomicInteger done = new AtomicInteger();
        try (var pool = new ThreadPoolExecutor(2, 2, 1, TimeUnit.SECONDS, BlockQueue.manyToMany(1000))) {
            for (int i = 0; i < 1000; i++) {
                pool.execute(done::incrementAndGet);
            }
        }
        assertEquals(1000, done.get());
    }

    @Test
    void drains() {
        BlockQueue<Integer> queue = BlockQueue.manyToMany(10);
        for (int i = 0; i < 5; i++) {
            queue.add(i);
        }
        List<Integer> drained = new ArrayList<>();
        assertEquals(2, queue.drainTo(drained, 2));
        assertEquals(3, queue.drainTo(drained));
        assertArrayEquals(new Integer[] {0, 1, 2, 3, 4}, drained.toArray());
        assertEquals(queue.capacity(), queue.remainingCapacity());
        assertEquals("BlockQueue[0 of " + queue.capacity() + "]", queue.toString());
    }
}

package corelane;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_LONG_UNALIGNED;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** What holds for all queues of items off the heap. */
@Timeout(120)
class ItemQueuesTest {
    enum Shape {
        LINES,
        ONE_TO_ONE,
        MANY_TO_ONE,
        ONE_TO_MANY,
        MANY_TO_MANY;

        ItemQueue queue(long size, int capacity) {
            return switch (this) {
                case LINES -> new LineQueue(size, capacity);
                case ONE_TO_ONE -> BlockItemQueue.oneToOne(size, capacity);
                case MANY_TO_ONE -> BlockItemQueue.manyToOne(size, capacity);
                case ONE_TO_MANY -> BlockItemQueue.oneToMany(size, capacity);
                case MANY_TO_MANY -> BlockItemQueue.manyToMany(size, capacity);
            };
        }

        boolean hasSeveralProducers() {
            return this == MANY_TO_ONE || this == MANY_TO_MANY;
        }

        boolean hasSeveralConsumers() {
            return this == ONE_TO_MANY || this == MANY_TO_MANY;
        }
    }

    /** Each byte of an item depends on its number. */
    private static void write(MemorySegment memory, long at, long size, long number) {
        for (long b = 0; b < size; b++) {
            memory.set(JAVA_BYTE, at + b, (byte) (number * 31 + b));
        }
    }

    private static void check(MemorySegment memory, long at, long size, long number) {
        for (long b = 0; b < size; b++) {
            assertEquals((byte) (number * 31 + b), memory.get(JAVA_BYTE, at + b));
        }
    }

    @ParameterizedTest
    @EnumSource
    void isFirstInFirstOut(Shape shape) {
        Random random = new Random(5);
        for (long size : new long[] {1, 3, 4, 8, 12, 24, 56, 64, 100, 1500}) {
            for (int capacity : new int[] {1, 8, 30, 200}) {
                ItemQueue queue = shape.queue(size, capacity);
                mix(queue, size, capacity, random);
            }
        }
    }

    private static void mix(ItemQueue queue, long size, int capacity, Random random) {
        MemorySegment many = Arena.ofAuto().allocate(size * 40, 8);
        long[] numbers = {0, 0};
        for (int step = 0; step < 600; step++) {
            int n = random.nextInt(40);
            long inside = numbers[0] - numbers[1];
            assertEquals(inside, queue.size());
            switch (random.nextInt(6)) {
                case 0 -> {
                    long at = queue.tryClaim();
                    assertTrue(at >= 0 || inside >= capacity);
                    if (at >= 0) {
                        write(queue.memory(), at, size, numbers[0]++);
                        queue.publish(at);
                    }
                }
                case 1 -> {
                    for (int i = 0; i < n; i++) {
                        write(many, i * size, size, numbers[0] + i);
                    }
                    int pushed = queue.tryPushMany(many, n);
                    assertTrue(pushed >= Math.min(n, capacity - inside));
                    numbers[0] += pushed;
                }
                case 2 -> {
                    int pushed = queue.tryPushEach((memory, at) -> write(memory, at, size, numbers[0]++), n);
                    assertTrue(pushed >= Math.min(n, capacity - inside));
                }
                case 3 -> {
                    long at = queue.tryPeek();
                    assertEquals(inside > 0, at >= 0);
                    if (at >= 0) {
                        check(queue.memory(), at, size, numbers[1]++);
                        queue.release(at);
                    }
                }
                case 4 -> {
                    int popped = queue.tryPopMany(many, n);
                    assertEquals(Math.min(n, inside), popped);
                    for (int i = 0; i < popped; i++) {
                        check(many, i * size, size, numbers[1]++);
                    }
                }
                default -> {
                    int popped = queue.tryPopEach((memory, at) -> check(memory, at, size, numbers[1]++), n);
                    assertEquals(Math.min(n, inside), popped);
                }
            }
        }
    }

    @ParameterizedTest
    @EnumSource
    void actionsThatThrowLeaveTheQueueUsable(Shape shape) {
        ItemQueue queue = shape.queue(8, 10);
        ItemQueue.Action fails = (memory, at) -> {
            throw new IllegalStateException();
        };
        queue.tryPushEach((memory, at) -> {}, 3);
        assertThrows(IllegalStateException.class, () -> queue.tryPopEach(fails, 1));
        assertThrows(IllegalStateException.class, () -> queue.tryPushEach(fails, 1));
        assertEquals(3, queue.tryPopEach((memory, at) -> {}, 10));
        mix(shape.queue(8, 10), 8, 10, new Random(1));
    }

    @ParameterizedTest
    @EnumSource
    void waitsAndCloses(Shape shape) throws InterruptedException {
        ItemQueue queue = shape.queue(8, 5);
        assertEquals(-1, queue.peek(Duration.ofMillis(5)));
        Thread other = Thread.startVirtualThread(() -> {
            try {
                for (int i = 0; i < 100; i++) {
                    long at = queue.claim();
                    write(queue.memory(), at, 8, i);
                    queue.publish(at);
                }
            } catch (InterruptedException error) {
                throw new IllegalStateException(error);
            }
        });
        for (int i = 0; i < 100; i++) {
            long at = queue.peek();
            check(queue.memory(), at, 8, i);
            queue.release(at);
        }
        other.join();
        while (queue.tryPushEach((memory, at) -> {}, 1) == 1) {}
        assertEquals(-1, queue.claim(Duration.ofMillis(5)));
        queue.close();
        assertEquals(-1, queue.claim());
        for (long at = queue.peek(); at >= 0; at = queue.peek()) {
            queue.release(at);
        }
        assertTrue(queue.isClosed());
    }

    @ParameterizedTest
    @EnumSource
    void streamsBetweenThreads(Shape shape) throws InterruptedException {
        int producers = shape.hasSeveralProducers() ? 4 : 1;
        int consumers = shape.hasSeveralConsumers() ? 4 : 1;
        for (int batch : new int[] {1, 7, 60}) {
            stream(shape.queue(16, 100), producers, consumers, 30_000, batch);
        }
    }

    private static void stream(ItemQueue queue, int producers, int consumers, int items, int batch)
            throws InterruptedException {
        AtomicLong sum = new AtomicLong();
        AtomicInteger faults = new AtomicInteger();
        List<Thread> senders = new ArrayList<>();
        List<Thread> receivers = new ArrayList<>();
        for (int p = 0; p < producers; p++) {
            long producer = p;
            senders.add(Thread.ofPlatform().start(() -> {
                long[] next = {0};
                ItemQueue.Action write = (memory, at) -> {
                    memory.set(JAVA_LONG_UNALIGNED, at, producer);
                    memory.set(JAVA_LONG_UNALIGNED, at + 8, next[0]++);
                };
                while (next[0] < items) {
                    if (queue.tryPushEach(write, (int) Math.min(batch, items - next[0])) == 0) {
                        Thread.yield();
                    }
                }
            }));
        }
        for (int c = 0; c < consumers; c++) {
            receivers.add(Thread.ofPlatform().start(() -> {
                long[] last = new long[producers];
                Arrays.fill(last, -1);
                ItemQueue.Action read = (memory, at) -> {
                    int producer = (int) memory.get(JAVA_LONG_UNALIGNED, at);
                    long number = memory.get(JAVA_LONG_UNALIGNED, at + 8);
                    if (number <= last[producer]) {
                        faults.incrementAndGet();
                    }
                    last[producer] = number;
                    sum.addAndGet(number + 1);
                };
                try {
                    for (long at = queue.peek(); at >= 0; at = queue.peek()) {
                        read.accept(queue.memory(), at);
                        queue.release(at);
                        queue.tryPopEach(read, batch);
                    }
                } catch (InterruptedException error) {
                    faults.incrementAndGet();
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
}

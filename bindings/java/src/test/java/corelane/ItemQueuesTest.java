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
import org.junit.jupiter.api.Test;
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

    /** An action that writes or reads numbers, and throws at the third item. */
    private static ItemQueue.Action failing(long[] next, ItemQueue.Action action) {
        return (memory, at) -> {
            if (next[0] % 5 == 2) {
                throw new IllegalStateException();
            }
            action.accept(memory, at);
        };
    }

    @ParameterizedTest
    @EnumSource
    void actionsThatThrowLeaveTheQueueUsable(Shape shape) {
        ItemQueue queue = shape.queue(8, 10);
        // Not zeros in any place.
        for (int lap = 0; lap < 10; lap++) {
            queue.tryPushEach((memory, at) -> write(memory, at, 8, 77), 5);
            queue.tryPopEach((memory, at) -> {}, 5);
        }
        long[] next = {0};
        assertThrows(IllegalStateException.class, () -> queue.tryPushEach(
                failing(next, (memory, at) -> write(memory, at, 8, next[0]++)), 5));
        int pushed = queue.size();
        assertEquals(shape.hasSeveralProducers(), pushed > 2);
        long[] read = {0};
        for (; read[0] < 2; read[0]++) {
            assertEquals(1, queue.tryPopEach((memory, at) -> check(memory, at, 8, read[0]), 1));
        }
        queue.tryPopEach((memory, at) -> assertEquals(0, memory.get(JAVA_LONG_UNALIGNED, at)), 5);

        long[] given = {0};
        queue.tryPushEach((memory, at) -> write(memory, at, 8, given[0]++), 5);
        next[0] = 0;
        assertThrows(IllegalStateException.class, () -> queue.tryPopEach(
                failing(next, (memory, at) -> check(memory, at, 8, next[0]++)), 5));
        if (!shape.hasSeveralConsumers()) {
            // The third item, at which it threw, is removed.
            assertEquals(2, queue.size());
            assertEquals(1, queue.tryPopEach((memory, at) -> check(memory, at, 8, 3), 1));
        }
    }

    @ParameterizedTest
    @EnumSource
    void segmentsMustHaveRoom(Shape shape) {
        ItemQueue queue = shape.queue(8, 10);
        MemorySegment two = MemorySegment.ofArray(new long[2]);
        assertThrows(IndexOutOfBoundsException.class, () -> queue.tryPushMany(two, 3));
        assertEquals(0, queue.size());
        assertEquals(2, queue.tryPushMany(two, 2));
        assertThrows(IndexOutOfBoundsException.class, () -> queue.tryPopMany(two, 1, 2));
        assertThrows(IllegalArgumentException.class, () -> queue.tryPopMany(two.asReadOnly(), 2));
        assertEquals(2, queue.tryPopMany(two, 2));
        assertThrows(IllegalArgumentException.class, () -> shape.queue(0, 10));
        assertThrows(IllegalArgumentException.class, () -> shape.queue(8, 0));
    }

    /** Calls end, also if a thread holds a place. */
    @Test
    void aHeldPlaceHoldsNobodyForEver() throws InterruptedException {
        ItemQueue queue = BlockItemQueue.manyToMany(8, 1);
        long held = queue.claim();
        assertEquals(-1, queue.tryPeek());
        assertEquals(-1, queue.peek(Duration.ofMillis(5)));
        queue.publish(held);
        held = queue.peek();
        while (queue.tryPushMany(MemorySegment.ofArray(new long[1]), 1) == 1) {}
        while (queue.tryPopEach((memory, at) -> {}, 1) == 1) {}
        assertEquals(0, queue.size());
        while (queue.tryPushMany(MemorySegment.ofArray(new long[1]), 1) == 1) {}
        assertEquals(-1, queue.claim(Duration.ofMillis(5)));
        queue.release(held);
        assertTrue(queue.claim(Duration.ofMillis(5)) >= 0 || queue.size() > 0);
    }

    @Test
    void aLoopOfSizesSeesAPush() throws InterruptedException {
        for (Shape shape : Shape.values()) {
            ItemQueue queue = shape.queue(8, 10);
            Thread other = Thread.ofPlatform().start(() -> {
                while (queue.size() == 0) {}
            });
            Thread.sleep(30);
            queue.tryPushEach((memory, at) -> {}, 1);
            other.join();
        }
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

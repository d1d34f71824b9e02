package corelane;

import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import corelane.ring.Overwriting;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Queues that overwrite: the newest items are kept, and lost ones counted. */
@Timeout(120)
class OverwritingQueuesTest {
    @Test
    void keepsTheNewest() {
        for (int capacity : new int[] {1, 8, 9, 100, 1000}) {
            OverwritingQueue<Integer> queue = new OverwritingQueue<>(capacity);
            assertTrue(queue.capacity() >= capacity);
            int pushed = 5 * queue.capacity() + 3;
            for (int i = 0; i < pushed; i++) {
                assertTrue(queue.offer(i));
            }
            int first = queue.poll();
            assertTrue(first <= pushed - queue.capacity(), "kept " + (pushed - first));
            for (int i = first + 1; i < pushed; i++) {
                assertEquals(i, queue.poll());
            }
            assertEquals(first, queue.lost());
            assertEquals(null, queue.poll());
        }
    }

    private static void mix(OverwritingQueue<Integer> queue, Random random) {
        Integer[] many = new Integer[50];
        int pushed = 0;
        int popped = 0;
        int last = -1;
        for (int step = 0; step < 3000; step++) {
            int n = random.nextInt(many.length);
            if (random.nextInt(100) < 55) {
                for (int i = 0; i < n; i++) {
                    many[i] = pushed++;
                }
                assertEquals(n, queue.offer(many, 0, n));
            } else {
                int got = queue.poll(many, 0, n);
                for (int i = 0; i < got; i++) {
                    assertTrue(many[i] > last);
                    last = many[i];
                }
                popped += got;
            }
        }
        while (queue.poll() != null) {
            popped++;
        }
        assertEquals(pushed, popped + queue.lost());
        assertTrue(queue.isEmpty());
    }

    @Test
    void countsEachLostItemOnce() {
        Random random = new Random(3);
        for (int capacity : new int[] {1, 20, 100}) {
            mix(new OverwritingQueue<>(capacity), random);
        }
        for (long laps : new long[] {(1L << 31) - 3, (1L << 32) - 3}) {
            mix(new OverwritingQueue<>(new Overwriting(5, laps), Strategy.SPIN), random);
        }
    }

    @Test
    void severalThreads() throws InterruptedException {
        int producers = 3;
        int consumers = 2;
        int items = 100_000;
        OverwritingQueue<long[]> queue = new OverwritingQueue<>(50);
        AtomicLong popped = new AtomicLong();
        AtomicInteger faults = new AtomicInteger();
        List<Thread> senders = new ArrayList<>();
        List<Thread> receivers = new ArrayList<>();
        for (int p = 0; p < producers; p++) {
            int producer = p;
            senders.add(Thread.ofPlatform().start(() -> {
                for (int i = 0; i < items; i++) {
                    queue.offer(new long[] {producer, i});
                }
            }));
        }
        for (int c = 0; c < consumers; c++) {
            receivers.add(Thread.ofPlatform().start(() -> {
                long[] last = {-1, -1, -1};
                try {
                    for (;;) {
                        long[] item = queue.take();
                        popped.incrementAndGet();
                        if (item[1] <= last[(int) item[0]]) {
                            faults.incrementAndGet();
                        }
                        last[(int) item[0]] = item[1];
                    }
                } catch (ClosedException | InterruptedException end) {
                    // All are popped.
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
        assertEquals((long) producers * items, popped.get() + queue.lost());
    }

    /** Items of several words: no copy is made of two of them. */
    @Test
    void itemsAreWhole() throws InterruptedException {
        OverwritingItemQueue queue = new OverwritingItemQueue(64, 20);
        int items = 200_000;
        Thread sender = Thread.ofPlatform().start(() -> {
            MemorySegment item = Arena.ofAuto().allocate(64, 8);
            for (long i = 0; i < items; i++) {
                for (int word = 0; word < 8; word++) {
                    item.setAtIndex(JAVA_LONG, word, i);
                }
                queue.push(item);
            }
            queue.close();
        });
        MemorySegment item = Arena.ofAuto().allocate(64, 8);
        long last = -1;
        long popped = 0;
        while (queue.pop(item)) {
            long number = item.get(JAVA_LONG, 0);
            assertTrue(number > last);
            for (int word = 0; word < 8; word++) {
                assertEquals(number, item.getAtIndex(JAVA_LONG, word));
            }
            last = number;
            popped++;
        }
        sender.join();
        assertEquals(items, popped + queue.lost());
        assertFalse(queue.push(item));
    }

    @Test
    void segmentsMustHaveRoom() {
        OverwritingItemQueue queue = new OverwritingItemQueue(8, 5);
        MemorySegment tooShort = MemorySegment.ofArray(new byte[7]);
        MemorySegment item = MemorySegment.ofArray(new long[1]);
        assertThrows(IndexOutOfBoundsException.class, () -> queue.push(tooShort));
        assertTrue(queue.push(item));
        assertThrows(IndexOutOfBoundsException.class, () -> queue.tryPop(tooShort));
        assertTrue(queue.tryPop(item));
        assertFalse(queue.tryPop(item));
        assertThrows(IllegalArgumentException.class, () -> new OverwritingItemQueue(0, 5));
    }

    @Test
    void nothingIsPeekedAt() {
        assertThrows(UnsupportedOperationException.class, () -> new OverwritingQueue<>(1).peek());
    }
}

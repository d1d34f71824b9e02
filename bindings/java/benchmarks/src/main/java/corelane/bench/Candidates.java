package corelane.bench;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import com.lmax.disruptor.BatchEventProcessor;
import com.lmax.disruptor.BatchEventProcessorBuilder;
import com.lmax.disruptor.EventHandler;
import com.lmax.disruptor.RingBuffer;
import com.lmax.disruptor.YieldingWaitStrategy;
import corelane.BlockItemQueue;
import corelane.BlockQueue;
import corelane.ItemQueue;
import corelane.LineQueue;
import corelane.ObjectQueue;
import corelane.jni.NativeQueue;
import corelane.jni.NativeQueue.Kind;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedTransferQueue;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.Function;
import java.util.function.Supplier;
import org.agrona.concurrent.ManyToManyConcurrentArrayQueue;
import org.agrona.concurrent.ManyToOneConcurrentArrayQueue;
import org.agrona.concurrent.OneToOneConcurrentArrayQueue;
import org.jctools.queues.MessagePassingQueue;
import org.jctools.queues.MpmcArrayQueue;
import org.jctools.queues.MpscArrayQueue;
import org.jctools.queues.SpmcArrayQueue;
import org.jctools.queues.SpscArrayQueue;

/** All candidates, by name. */
final class Candidates {
    /** Boxed once, so that queues of objects are not measured with an allocation for each item. */
    private static final Long[] BOXED = new Long[1 << 12];

    static {
        for (int i = 0; i < BOXED.length; i++) {
            BOXED[i] = (long) i;
        }
    }

    /** What an item counts: its number, so that boxes can be used again. */
    static long value(long number) {
        return number & BOXED.length - 1;
    }

    private Candidates() {}

    /**
     * @param each whether each consumer gets all items
     * @param batch items in a call of a producer, and at most in one of a consumer
     */
    static Candidate of(String name, int producers, int consumers, boolean each, int capacity, int batch) {
        boolean one = producers == 1;
        boolean alone = consumers == 1 || each;
        int queues = each ? consumers : 1;
        return switch (name) {
            case "disruptor" -> new OfDisruptor(one, consumers, capacity);
            case "lines" -> new OfItems(queues, () -> new LineQueue(8, capacity), batch);
            case "items" -> new OfItems(queues, () -> items(one, alone, capacity), batch);
            case "blocks" -> new OfBlocks(queues, () -> blocks(one, alone, capacity), batch);
            case "jni" -> new OfNative(queues, one && alone ? Kind.ONE_TO_ONE : Kind.BLOCKS, capacity, batch);
            case "jctools" -> batch == 1
                    ? new OfQueue(queues, () -> (Queue<Long>) jctools(one, alone, capacity))
                    : new OfMessagePassing(queues, () -> jctools(one, alone, capacity), batch);
            case "agrona" -> new OfQueue(queues, () -> one && alone
                    ? new OneToOneConcurrentArrayQueue<>(capacity)
                    : alone ? new ManyToOneConcurrentArrayQueue<>(capacity)
                    : new ManyToManyConcurrentArrayQueue<>(capacity));
            case "ArrayBlockingQueue" -> new OfBlocking(queues, () -> new ArrayBlockingQueue<>(capacity));
            case "LinkedTransferQueue" -> new OfBlocking(queues, LinkedTransferQueue::new);
            default -> throw new IllegalArgumentException("no candidate is called " + name);
        };
    }

    private static MessagePassingQueue<Long> jctools(boolean one, boolean alone, int capacity) {
        if (one) {
            return alone ? new SpscArrayQueue<>(capacity) : new SpmcArrayQueue<>(capacity);
        }
        return alone ? new MpscArrayQueue<>(capacity) : new MpmcArrayQueue<>(capacity);
    }

    private static ItemQueue items(boolean one, boolean alone, int capacity) {
        if (one) {
            return alone ? BlockItemQueue.oneToOne(8, capacity) : BlockItemQueue.oneToMany(8, capacity);
        }
        return alone ? BlockItemQueue.manyToOne(8, capacity) : BlockItemQueue.manyToMany(8, capacity);
    }

    private static ObjectQueue<Long> blocks(boolean one, boolean alone, int capacity) {
        if (one) {
            return alone ? BlockQueue.oneToOne(capacity) : BlockQueue.oneToMany(capacity);
        }
        return alone ? BlockQueue.manyToOne(capacity) : BlockQueue.manyToMany(capacity);
    }

    /** A sender into one queue, or one that pushes each item, or each batch, into all. */
    private static <Q> Candidate.Sender toEach(List<Q> queues, int batch, Function<Q, Candidate.Sender> make) {
        Candidate.Sender[] senders = queues.stream().map(make).toArray(Candidate.Sender[]::new);
        if (senders.length == 1) {
            return senders[0];
        }
        return (first, n) -> {
            for (int i = 0; i < n; i += batch) {
                for (Candidate.Sender sender : senders) {
                    sender.send(first + i, batch);
                }
            }
        };
    }

    /** Several queues; with more than one, each item goes into all. */
    private static <Q> List<Q> several(int n, Supplier<Q> make) {
        List<Q> queues = new ArrayList<>();
        for (int i = 0; i < n; i++) {
            queues.add(make.get());
        }
        return queues;
    }

    /** The Disruptor's own workload: one by one, with its own wait strategy. */
    private static final class OfDisruptor implements Candidate {
        static final class Value {
            long number;
        }

        static final class Handler implements EventHandler<Value> {
            private long sum;
            private long left = Long.MAX_VALUE;
            private CountDownLatch done;

            @Override
            public void onEvent(Value event, long sequence, boolean isLast) {
                sum += event.number;
                if (--left == 0) {
                    done.countDown();
                }
            }

            @Override
            public void onBatchStart(long batchSize, long queueDepth) {
                batches++;
                events += batchSize;
            }

            long batches;
            long events;
        }

        private final RingBuffer<Value> ring;
        private final List<Handler> handlers = new ArrayList<>();
        private final List<BatchEventProcessor<Value>> processors = new ArrayList<>();

        OfDisruptor(boolean one, int consumers, int capacity) {
            ring = one
                    ? RingBuffer.createSingleProducer(Value::new, capacity, new YieldingWaitStrategy())
                    : RingBuffer.createMultiProducer(Value::new, capacity, new YieldingWaitStrategy());
            for (int i = 0; i < consumers; i++) {
                Handler handler = new Handler();
                var processor = new BatchEventProcessorBuilder().build(ring, ring.newBarrier(), handler);
                ring.addGatingSequences(processor.getSequence());
                handlers.add(handler);
                processors.add(processor);
            }
        }

        @Override
        public Sender sender(int producer) {
            return (first, n) -> {
                for (int i = 0; i < n; i++) {
                    long next = ring.next();
                    ring.get(next).number = value(first + i);
                    ring.publish(next);
                }
            };
        }

        @Override
        public Receiver receiver(int consumer) {
            Handler handler = handlers.get(consumer);
            var processor = processors.get(consumer);
            return items -> {
                handler.sum = 0;
                handler.left = items;
                handler.done = new CountDownLatch(1);
                Thread.ofPlatform().daemon().start(() -> {
                    awaitUninterruptibly(handler.done);
                    processor.halt();
                });
                processor.run();
                return handler.sum;
            };
        }

        private static void awaitUninterruptibly(CountDownLatch latch) {
            try {
                latch.await();
            } catch (InterruptedException error) {
                throw new IllegalStateException(error);
            }
        }

        @Override
        public double averageBatch() {
            long events = handlers.stream().mapToLong(handler -> handler.events).sum();
            return events / (double) handlers.stream().mapToLong(handler -> handler.batches).sum();
        }
    }

    /** Queues of items, off the heap; with several, each producer pushes each item into all. */
    private static final class OfItems implements Candidate {
        private final List<ItemQueue> queues;
        private final int batch;
        private final LongAdder calls = new LongAdder();
        private final LongAdder popped = new LongAdder();

        OfItems(int n, Supplier<ItemQueue> make, int batch) {
            queues = several(n, make);
            this.batch = batch;
        }

        @Override
        public Sender sender(int producer) {
            Idle idle = new Idle();
            long[] numbers = new long[batch];
            MemorySegment items = MemorySegment.ofArray(numbers);
            if (batch == 1) {
                return toEach(queues, 1, queue -> (first, n) -> {
                    for (int i = 0; i < n; i++) {
                        long at = queue.tryClaim();
                        for (; at < 0; at = queue.tryClaim()) {
                            idle.idle();
                        }
                        idle.found();
                        queue.memory().set(JAVA_LONG, at, value(first + i));
                        queue.publish(at);
                    }
                });
            }
            return toEach(queues, batch, queue -> (first, n) -> {
                for (int at = 0; at < n; at += batch) {
                    for (int i = 0; i < batch; i++) {
                        numbers[i] = value(first + at + i);
                    }
                    for (int done = 0; done < batch;) {
                        int pushed = queue.tryPushMany(items, done, batch - done);
                        done += pushed;
                        if (pushed == 0) {
                            idle.idle();
                        } else {
                            idle.found();
                        }
                    }
                }
            });
        }

        private static final class Sum implements ItemQueue.Action {
            long sum;

            @Override
            public void accept(MemorySegment memory, long at) {
                sum += memory.get(JAVA_LONG, at);
            }
        }

        @Override
        public Receiver receiver(int consumer) {
            ItemQueue queue = queues.get(consumer % queues.size());
            Idle idle = new Idle();
            if (batch == 1) {
                return items -> {
                    long sum = 0;
                    for (long i = 0; i < items; i++) {
                        long at = queue.tryPeek();
                        for (; at < 0; at = queue.tryPeek()) {
                            idle.idle();
                        }
                        idle.found();
                        sum += queue.memory().get(JAVA_LONG, at);
                        queue.release(at);
                    }
                    return sum;
                };
            }
            return items -> {
                Sum sum = new Sum();
                long nonempty = 0;
                for (long left = items; left > 0;) {
                    int n = queue.tryPopEach(sum, (int) Math.min(left, batch));
                    left -= n;
                    if (n == 0) {
                        idle.idle();
                    } else {
                        idle.found();
                        nonempty++;
                    }
                }
                calls.add(nonempty);
                popped.add(items);
                return sum.sum;
            };
        }

        @Override
        public double averageBatch() {
            return popped.sum() / (double) calls.sum();
        }
    }

    /** Queues of objects, with arrays of them in a call. */
    private static final class OfBlocks implements Candidate {
        private final List<ObjectQueue<Long>> queues;
        private final int batch;
        private final LongAdder calls = new LongAdder();
        private final LongAdder popped = new LongAdder();

        OfBlocks(int n, Supplier<ObjectQueue<Long>> make, int batch) {
            queues = several(n, make);
            this.batch = batch;
        }

        @Override
        public Sender sender(int producer) {
            if (batch == 1) {
                return new OfQueue(new ArrayList<Queue<Long>>(queues)).sender(producer);
            }
            Idle idle = new Idle();
            Long[] items = new Long[batch];
            return toEach(queues, batch, queue -> (first, n) -> {
                for (int at = 0; at < n; at += batch) {
                    for (int i = 0; i < batch; i++) {
                        items[i] = BOXED[(int) value(first + at + i)];
                    }
                    for (int done = 0; done < batch;) {
                        int pushed = queue.offer(items, done, batch - done);
                        done += pushed;
                        if (pushed == 0) {
                            idle.idle();
                        } else {
                            idle.found();
                        }
                    }
                }
            });
        }

        @Override
        public Receiver receiver(int consumer) {
            if (batch == 1) {
                return new OfQueue(new ArrayList<Queue<Long>>(queues)).receiver(consumer);
            }
            ObjectQueue<Long> queue = queues.get(consumer % queues.size());
            Idle idle = new Idle();
            Long[] into = new Long[batch];
            return items -> {
                long sum = 0;
                long nonempty = 0;
                for (long left = items; left > 0;) {
                    int n = queue.poll(into, 0, (int) Math.min(left, batch));
                    for (int i = 0; i < n; i++) {
                        sum += into[i];
                    }
                    left -= n;
                    if (n == 0) {
                        idle.idle();
                    } else {
                        idle.found();
                        nonempty++;
                    }
                }
                calls.add(nonempty);
                popped.add(items);
                return sum;
            };
        }

        @Override
        public double averageBatch() {
            return popped.sum() / (double) calls.sum();
        }
    }

    /** JCTools' own calls for many items: {@code fill} and {@code drain}. */
    private static final class OfMessagePassing implements Candidate {
        private final List<MessagePassingQueue<Long>> queues;
        private final int batch;
        private final LongAdder calls = new LongAdder();
        private final LongAdder popped = new LongAdder();

        OfMessagePassing(int n, Supplier<MessagePassingQueue<Long>> make, int batch) {
            queues = several(n, make);
            this.batch = batch;
        }

        private static final class Numbers implements MessagePassingQueue.Supplier<Long> {
            long next;

            @Override
            public Long get() {
                return BOXED[(int) value(next++)];
            }
        }

        private static final class Sum implements MessagePassingQueue.Consumer<Long> {
            long sum;

            @Override
            public void accept(Long item) {
                sum += item;
            }
        }

        @Override
        public Sender sender(int producer) {
            Idle idle = new Idle();
            Numbers numbers = new Numbers();
            return toEach(queues, batch, queue -> (first, n) -> {
                numbers.next = first;
                for (int at = 0; at < n; at += batch) {
                    for (int done = 0; done < batch;) {
                        int pushed = queue.fill(numbers, batch - done);
                        done += pushed;
                        if (pushed == 0) {
                            idle.idle();
                        } else {
                            idle.found();
                        }
                    }
                }
            });
        }

        @Override
        public Receiver receiver(int consumer) {
            MessagePassingQueue<Long> queue = queues.get(consumer % queues.size());
            Idle idle = new Idle();
            return items -> {
                Sum sum = new Sum();
                long nonempty = 0;
                for (long left = items; left > 0;) {
                    int n = queue.drain(sum, (int) Math.min(left, batch));
                    left -= n;
                    if (n == 0) {
                        idle.idle();
                    } else {
                        idle.found();
                        nonempty++;
                    }
                }
                calls.add(nonempty);
                popped.add(items);
                return sum.sum;
            };
        }

        @Override
        public double averageBatch() {
            return popped.sum() / (double) calls.sum();
        }
    }

    /** Queues in Rust, called by JNI. */
    private static final class OfNative implements Candidate {
        private final List<NativeQueue> queues;
        private final boolean isShared;
        private final int batch;

        OfNative(int n, Kind kind, int capacity, int batch) {
            queues = several(n, () -> new NativeQueue(kind, capacity));
            isShared = kind == Kind.BLOCKS;
            this.batch = batch;
        }

        @Override
        public Sender sender(int producer) {
            Idle idle = new Idle();
            List<NativeQueue.Producer> handles = new ArrayList<>();
            for (NativeQueue queue : queues) {
                handles.add(isShared && producer > 0 ? queue.producer().share() : queue.producer());
            }
            if (batch == 1) {
                return toEach(handles, 1, handle -> (first, n) -> {
                    for (int i = 0; i < n; i++) {
                        while (!handle.tryPush(value(first + i))) {
                            idle.idle();
                        }
                        idle.found();
                    }
                });
            }
            long[] numbers = new long[batch];
            return toEach(handles, batch, handle -> (first, n) -> {
                for (int at = 0; at < n; at += batch) {
                    for (int i = 0; i < batch; i++) {
                        numbers[i] = value(first + at + i);
                    }
                    for (int done = 0; done < batch;) {
                        int pushed = handle.tryPushMany(numbers, done, batch - done);
                        done += pushed;
                        if (pushed == 0) {
                            idle.idle();
                        } else {
                            idle.found();
                        }
                    }
                }
            });
        }

        @Override
        public Receiver receiver(int consumer) {
            NativeQueue queue = queues.get(consumer % queues.size());
            NativeQueue.Consumer handle =
                    queues.size() == 1 && isShared && consumer > 0 ? queue.consumer().share() : queue.consumer();
            Idle idle = new Idle();
            long[] into = new long[batch];
            return items -> {
                long sum = 0;
                for (long left = items; left > 0;) {
                    int n = 1;
                    if (batch == 1) {
                        long item = handle.tryPop();
                        n = item == NativeQueue.NOTHING ? 0 : 1;
                        sum += n == 0 ? 0 : item;
                    } else {
                        n = handle.tryPopMany(into, 0, (int) Math.min(left, batch));
                        for (int i = 0; i < n; i++) {
                            sum += into[i];
                        }
                    }
                    left -= n;
                    if (n == 0) {
                        idle.idle();
                    } else {
                        idle.found();
                    }
                }
                return sum;
            };
        }
    }

    /** Queues that don't wait, one item a call. */
    private static final class OfQueue implements Candidate {
        private final List<Queue<Long>> queues;

        OfQueue(List<Queue<Long>> queues) {
            this.queues = queues;
        }

        OfQueue(int n, Supplier<Queue<Long>> make) {
            this(several(n, make));
        }

        @Override
        public Sender sender(int producer) {
            Idle idle = new Idle();
            return toEach(queues, 1, queue -> (first, n) -> {
                for (int i = 0; i < n; i++) {
                    Long item = BOXED[(int) value(first + i)];
                    while (!queue.offer(item)) {
                        idle.idle();
                    }
                    idle.found();
                }
            });
        }

        @Override
        public Receiver receiver(int consumer) {
            Queue<Long> queue = queues.get(consumer % queues.size());
            Idle idle = new Idle();
            return items -> {
                long sum = 0;
                for (long i = 0; i < items; i++) {
                    Long item = queue.poll();
                    for (; item == null; item = queue.poll()) {
                        idle.idle();
                    }
                    idle.found();
                    sum += item;
                }
                return sum;
            };
        }
    }

    /** Queues that wait, one item a call. */
    private static final class OfBlocking implements Candidate {
        private final List<BlockingQueue<Long>> queues;

        OfBlocking(int n, Supplier<BlockingQueue<Long>> make) {
            queues = several(n, make);
        }

        @Override
        public Sender sender(int producer) {
            return toEach(queues, 1, queue -> (first, n) -> {
                try {
                    for (int i = 0; i < n; i++) {
                        queue.put(BOXED[(int) value(first + i)]);
                    }
                } catch (InterruptedException error) {
                    throw new IllegalStateException(error);
                }
            });
        }

        @Override
        public Receiver receiver(int consumer) {
            BlockingQueue<Long> queue = queues.get(consumer % queues.size());
            return items -> {
                long sum = 0;
                try {
                    for (long i = 0; i < items; i++) {
                        sum += queue.take();
                    }
                } catch (InterruptedException error) {
                    throw new IllegalStateException(error);
                }
                return sum;
            };
        }
    }
}

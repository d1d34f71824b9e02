package corelane.jni;

/**
 * A queue of longs in Rust, called by the Java Native Interface. {@code corelane.BlockItemQueue} is the same in
 * Java, and needs no library; this class is here to compare.
 *
 * <p>{@code -Dcorelane.jni=PATH} says where the library is that {@code build} makes.
 */
public final class NativeQueue {
    /** As {@code corelane_kind} in {@code corelane.h}. */
    public enum Kind {
        ONE_TO_ONE,
        IN_PLACE,
        SEVERAL,
        BLOCKS,
        OVERWRITING
    }

    /** A pop that found nothing. */
    public static final long NOTHING = Long.MIN_VALUE;

    static {
        System.load(System.getProperty("corelane.jni"));
    }

    private final Producer producer;
    private final Consumer consumer;

    /** A queue for at least {@code capacity} longs. */
    public NativeQueue(Kind kind, int capacity) {
        long[] handles = new long[2];
        if (create(kind.ordinal(), capacity, handles) != 0) {
            throw new IllegalArgumentException("a queue for " + capacity + " items is not possible");
        }
        producer = new Producer(handles[0]);
        consumer = new Consumer(handles[1]);
    }

    /** The first producer. */
    public Producer producer() {
        return producer;
    }

    /** The first consumer. */
    public Consumer consumer() {
        return consumer;
    }

    /** A sending side, of one thread. */
    public static final class Producer implements AutoCloseable {
        private long handle;

        private Producer(long handle) {
            this.handle = handle;
        }

        /** Another one, of {@code SEVERAL}, {@code BLOCKS} and {@code OVERWRITING}. */
        public Producer share() {
            return new Producer(cloneProducer(handle));
        }

        /** Pushes the item, if there is room. */
        public boolean tryPush(long item) {
            return push(handle, item);
        }

        /** Pushes up to {@code n} items, and returns their number. */
        public int tryPushMany(long[] items, int first, int n) {
            return pushMany(handle, items, first, n);
        }

        /** A second call does nothing. */
        @Override
        public void close() {
            closeProducer(handle);
            handle = 0;
        }
    }

    /** A receiving side, of one thread. */
    public static final class Consumer implements AutoCloseable {
        private long handle;

        private Consumer(long handle) {
            this.handle = handle;
        }

        /** Another one, of {@code SEVERAL}, {@code BLOCKS} and {@code OVERWRITING}. */
        public Consumer share() {
            return new Consumer(cloneConsumer(handle));
        }

        /** The oldest item, or {@link #NOTHING}. */
        public long tryPop() {
            return pop(handle);
        }

        /** Pops up to {@code n} items, and returns their number. */
        public int tryPopMany(long[] into, int first, int n) {
            return popMany(handle, into, first, n);
        }

        /** A second call does nothing. */
        @Override
        public void close() {
            closeConsumer(handle);
            handle = 0;
        }
    }

    private static native int create(int kind, int capacity, long[] handles);

    private static native long cloneProducer(long producer);

    private static native long cloneConsumer(long consumer);

    private static native boolean push(long producer, long item);

    private static native int pushMany(long producer, long[] items, int first, int n);

    private static native long pop(long consumer);

    private static native int popMany(long consumer, long[] into, int first, int n);

    private static native void closeProducer(long producer);

    private static native void closeConsumer(long consumer);
}

package corelane;

import corelane.ring.Blocks;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.Objects;

/**
 * A bounded queue of items of fixed size, in memory off the heap: no object is made for an item, and the
 * garbage collector has no work with them. Threads of one process share it; a {@link corelane.shm.Lane}
 * connects processes.
 *
 * <p>Items are written and read in place:
 *
 * <pre>{@code
 * var queue = new LineQueue(8, 1024);        // items of 8 bytes
 * MemorySegment memory = queue.memory();
 *
 * long at = queue.claim();                    // waits for room
 * memory.set(ValueLayout.JAVA_LONG, at, 42);
 * queue.publish(at);
 *
 * long item = queue.peek();                   // waits for an item; -1 if the queue is closed and empty
 * long value = memory.get(ValueLayout.JAVA_LONG, item);
 * queue.release(item);
 * }</pre>
 *
 * <p>Calls that wait let a virtual thread leave its carrier when they sleep. {@link #close} says that no more
 * items come: call it when all pushes have returned. Consumers still get the items that are inside.
 */
public abstract sealed class ItemQueue implements AutoCloseable permits LineQueue, BlockItemQueue {
    static final Duration FOREVER = Duration.ofNanos(Long.MAX_VALUE);

    final MemorySegment memory;
    final long size;
    /** Wakes consumers, and producers. */
    final Bell itemsBell;
    final Bell roomBell;
    private volatile boolean isClosed;

    /** Writes or reads items in their places. */
    @FunctionalInterface
    public interface Action {
        /** Writes or reads the item at {@code memory[at]}, which is the caller's until it returns. */
        void accept(MemorySegment memory, long at);
    }

    ItemQueue(MemorySegment memory, long size, Strategy strategy) {
        this.memory = memory;
        this.size = size;
        itemsBell = new Bell(strategy, false);
        roomBell = new Bell(strategy, true);
    }

    /** The memory in which items have their places. */
    public final MemorySegment memory() {
        return memory;
    }

    /** Bytes of an item. */
    public final long itemSize() {
        return size;
    }

    /** Items that always fit. */
    public abstract int capacity();

    /** Items inside: a snapshot. */
    public abstract int size();

    /** A place to fill, or -1; {@link Blocks#YET} if an unfinished call of another thread is in the way. */
    abstract long claimPlace();

    abstract void publishPlace(long at);

    /** A place with an item, or -1; {@link Blocks#YET} if an unfinished call of another thread is in the way. */
    abstract long reservePlace();

    abstract void releasePlace(long at);

    /** Whether more items may follow those that were popped last, in the next block or line. */
    abstract boolean isAtEnd();

    abstract int push(MemorySegment items, long from, int n);

    abstract int pop(MemorySegment into, long to, int n);

    abstract int push(Action action, int n);

    abstract int pop(Action action, int n);

    /**
     * A place to write an item to, or -1 if there is no room or the queue is closed. {@link #publish} pushes it.
     * A thread claims one place at a time.
     */
    public final long tryClaim() {
        long at = isClosed ? -1 : claimPlace();
        return at == Blocks.YET ? claimAgain() : at;
    }

    private long claimAgain() {
        long at = Blocks.YET;
        for (int i = 0; at == Blocks.YET && Blocks.await(i); i++) {
            at = claimPlace();
        }
        return Math.max(at, -1);
    }

    /** As {@link #tryClaim}. Waits for room; -1 if the queue is closed. */
    public final long claim() throws InterruptedException {
        return claim(FOREVER);
    }

    /** As {@link #claim()}, for at most so long: then -1, too. */
    public final long claim(Duration timeout) throws InterruptedException {
        long at = tryClaim();
        if (at >= 0) {
            return at;
        }
        var found = new Object() {
            long at = -1;
        };
        roomBell.await(() -> isClosed || (found.at = claimPlace()) >= 0, nanoseconds(timeout));
        return Math.max(found.at, -1);
    }

    /** Pushes the item that was written to the claimed place. */
    public final void publish(long at) {
        publishPlace(at);
        itemsBell.ring();
    }

    /**
     * The place of the oldest item, or -1 if there is none. {@link #release} removes it. A thread peeks at one
     * item at a time.
     */
    public final long tryPeek() {
        long at = reservePlace();
        return at == Blocks.YET ? peekAgain() : at;
    }

    private long peekAgain() {
        long at = Blocks.YET;
        for (int i = 0; at == Blocks.YET && Blocks.await(i); i++) {
            at = reservePlace();
        }
        return Math.max(at, -1);
    }

    /** As {@link #tryPeek}. Waits for an item; -1 if the queue is closed and empty. */
    public final long peek() throws InterruptedException {
        return peek(FOREVER);
    }

    /** As {@link #peek()}, for at most so long: then -1, too. */
    public final long peek(Duration timeout) throws InterruptedException {
        long at = tryPeek();
        if (at >= 0) {
            return at;
        }
        var found = new Object() {
            long at = -1;
        };
        itemsBell.await(
                () -> {
                    // Read before the look, which then finds all that was pushed before.
                    boolean wasClosed = isClosed;
                    found.at = reservePlace();
                    return found.at >= 0 || wasClosed && found.at != Blocks.YET;
                },
                nanoseconds(timeout));
        return Math.max(found.at, -1);
    }

    static long nanoseconds(Duration timeout) {
        return timeout.compareTo(FOREVER) < 0 ? timeout.toNanos() : Long.MAX_VALUE;
    }

    /** Removes the item at this place, which {@link #peek} has found. */
    public final void release(long at) {
        releasePlace(at);
        roomBell.ring();
    }

    /**
     * Pushes copies of up to {@code n} items that lie in a row in {@code items}, as many as there is room for,
     * and returns their number. It costs less than as many single pushes.
     */
    public final int tryPushMany(MemorySegment items, int n) {
        return tryPushMany(items, 0, n);
    }

    /** The same, from the item with the index {@code first} on. */
    public final int tryPushMany(MemorySegment items, int first, int n) {
        check(items, first, n, size);
        return pushParts(n, (done, wanted) -> push(items, (first + done) * size, wanted));
    }

    /**
     * Pushes up to {@code n} items, as many as there is room for, and returns their number. The action writes
     * each in its place. If it throws, the items before are pushed; with several producers also that item and up
     * to {@code n} behind it, as zeros, since their places can't be given back.
     */
    public final int tryPushEach(Action action, int n) {
        return pushParts(n, (done, wanted) -> push(action, wanted));
    }

    /** Copies and removes up to {@code n} items, and returns their number. */
    public final int tryPopMany(MemorySegment into, int n) {
        return tryPopMany(into, 0, n);
    }

    /** The same, to the index {@code first} and those behind it. */
    public final int tryPopMany(MemorySegment into, int first, int n) {
        checkInto(into, first, n, size);
        return popParts(n, (done, wanted) -> pop(into, (first + done) * size, wanted));
    }

    /**
     * Calls the action for up to {@code n} items in their places, and removes them. Returns their number. If it
     * throws, that item is removed; with several consumers also up to {@code n} behind it.
     */
    public final int tryPopEach(Action action, int n) {
        return popParts(n, (done, wanted) -> pop(action, wanted));
    }

    /** Pushes or pops some of the items that are left, as {@link #push} and {@link #pop} do. */
    private interface Part {
        int move(int done, int wanted);
    }

    private int pushParts(int n, Part part) {
        int done = 0;
        try {
            for (int i = 0; done < n && !isClosed;) {
                int pushed = part.move(done, n - done);
                if (pushed == Blocks.NOTHING || pushed == Blocks.YET && !Blocks.await(i++)) {
                    break;
                }
                done += Math.max(pushed, 0);
            }
        } finally {
            // Also for what was pushed before an exception.
            itemsBell.ring(n);
        }
        return done;
    }

    private int popParts(int n, Part part) {
        int done = 0;
        try {
            for (int i = 0; done < n;) {
                int popped = part.move(done, n - done);
                if (popped == Blocks.NOTHING || popped == Blocks.YET && (done > 0 || !Blocks.await(i++))) {
                    break;
                }
                done += Math.max(popped, 0);
                if (popped > 0 && !isAtEnd()) {
                    // Another look at once would take the line that the producer is writing.
                    break;
                }
            }
        } finally {
            roomBell.ring(n);
        }
        return done;
    }

    /** An exception in the middle of a copy would be too late. */
    static void check(MemorySegment items, int first, int n, long size) {
        Objects.checkFromIndexSize(first * size, n * size, items.byteSize());
        if (!items.isAccessibleBy(Thread.currentThread())) {
            throw new WrongThreadException("the segment belongs to another thread");
        }
    }

    static void checkInto(MemorySegment into, int first, int n, long size) {
        check(into, first, n, size);
        if (into.isReadOnly()) {
            throw new IllegalArgumentException("the segment is read-only");
        }
    }

    /** Pushes fail from now on, and so do pops when all items are popped. A second call does nothing. */
    @Override
    public final void close() {
        isClosed = true;
        itemsBell.ring(Integer.MAX_VALUE);
        roomBell.ring(Integer.MAX_VALUE);
    }

    /** Whether {@link #close} was called. There may be items inside. */
    public final boolean isClosed() {
        return isClosed;
    }

    @Override
    public final String toString() {
        return getClass().getSimpleName() + "[" + size() + " of " + capacity() + "]";
    }
}

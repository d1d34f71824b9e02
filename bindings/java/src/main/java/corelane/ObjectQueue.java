package corelane;

import corelane.ring.Blocks;
import corelane.ring.Consumers;
import java.util.AbstractQueue;
import java.util.Collection;
import java.util.Iterator;
import java.util.Objects;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.TimeUnit;

/**
 * A bounded queue of objects that threads of one process share: a {@link BlockingQueue} that can be closed.
 *
 * <p>Calls that wait let a virtual thread leave its carrier when they sleep. {@link #close} says that no more
 * items come: call it when all pushes have returned. Consumers still get the items that are inside.
 *
 * <p>No item is taken out of the middle: {@link #remove(Object)} removes nothing, and {@link #contains} and
 * {@link #iterator} are not supported. {@link #size} visits all blocks.
 */
public abstract sealed class ObjectQueue<E> extends AbstractQueue<E>
        implements BlockingQueue<E>, AutoCloseable permits BlockQueue, OverwritingQueue {
    final Object[] items;
    /** Wakes consumers, and producers. */
    private final Bell itemsBell;
    private final Bell roomBell;
    private volatile boolean isClosed;

    ObjectQueue(int slots, Strategy strategy) {
        items = new Object[slots];
        itemsBell = new Bell(strategy, false);
        roomBell = new Bell(strategy, true);
    }

    /** Pushes up to {@code n} items; {@link Blocks#YET} if an unfinished call of another thread is in the way. */
    abstract int push(E[] from, int at, int n);

    /** Pushes; 1, {@link Blocks#NOTHING} or {@link Blocks#YET}. */
    abstract int push(E item);

    /** Pops; {@link Consumers#YET} if an unfinished call of another thread is in the way. */
    abstract Object pop();

    abstract int pop(Object[] into, int at, int n);

    /** Whether more items may follow those that were popped last, in the next block. */
    abstract boolean isAtEnd();

    /** The items that always fit, or are always kept. */
    public abstract int capacity();

    /** Pushes the item, if there is room and the queue is not closed. */
    @Override
    public final boolean offer(E item) {
        Objects.requireNonNull(item);
        int pushed = push(item);
        if (pushed == 1) {
            itemsBell.ring();
            return true;
        }
        return offerAgain(item, pushed);
    }

    private boolean offerAgain(E item, int pushed) {
        for (int i = 0; pushed == Blocks.YET; i++) {
            Blocks.await(i);
            pushed = push(item);
        }
        if (pushed != 1) {
            return false;
        }
        itemsBell.ring();
        return true;
    }

    /**
     * Pushes as many of {@code n} items as there is room for, from {@code from[at]} on, and returns their
     * number. It costs less than as many single pushes.
     */
    public final int offer(E[] from, int at, int n) {
        Objects.checkFromIndexSize(at, n, from.length);
        for (int i = at; i < at + n; i++) {
            Objects.requireNonNull(from[i]);
        }
        int done = 0;
        for (int i = 0; done < n && !isClosed;) {
            int pushed = push(from, at + done, n - done);
            if (pushed == Blocks.NOTHING) {
                break;
            }
            if (pushed == Blocks.YET) {
                Blocks.await(i++);
            } else {
                done += pushed;
            }
        }
        itemsBell.ring(done);
        return done;
    }

    /** Pushes the item. Waits for room. */
    @Override
    public final void put(E item) throws InterruptedException {
        if (!offer(item)) {
            roomBell.await(() -> offerOrThrow(item), Long.MAX_VALUE);
        }
    }

    @Override
    public final boolean offer(E item, long timeout, TimeUnit unit) throws InterruptedException {
        return offer(item) || roomBell.await(() -> offerOrThrow(item), unit.toNanos(timeout));
    }

    private boolean offerOrThrow(E item) {
        if (isClosed) {
            throw new ClosedException();
        }
        return offer(item);
    }

    /** Pops the oldest item; null if there is none. */
    @Override
    @SuppressWarnings("unchecked")
    public final E poll() {
        Object item = pop();
        if (item == Consumers.YET) {
            item = pollAgain();
        }
        if (item != null) {
            roomBell.ring();
        }
        return (E) item;
    }

    private Object pollAgain() {
        Object item = Consumers.YET;
        for (int i = 0; item == Consumers.YET; i++) {
            Blocks.await(i);
            item = pop();
        }
        return item;
    }

    /** Pops up to {@code n} items into {@code into}, from {@code into[at]} on, and returns their number. */
    public final int poll(E[] into, int at, int n) {
        Objects.checkFromIndexSize(at, n, into.length);
        int done = 0;
        for (int i = 0; done < n;) {
            int popped = pop(into, at + done, n - done);
            if (popped == Blocks.NOTHING || popped == Blocks.YET && done > 0) {
                break;
            }
            if (popped == Blocks.YET) {
                Blocks.await(i++);
            } else {
                done += popped;
                if (!isAtEnd()) {
                    // Another look at once would take the line that the producer is writing.
                    break;
                }
            }
        }
        roomBell.ring(done);
        return done;
    }

    /** Pops the oldest item. Waits for one. */
    @Override
    public final E take() throws InterruptedException {
        E item = poll();
        return item != null ? item : await(Long.MAX_VALUE);
    }

    @Override
    public final E poll(long timeout, TimeUnit unit) throws InterruptedException {
        E item = poll();
        return item != null ? item : await(unit.toNanos(timeout));
    }

    /** Pops; null when the time is over. */
    private E await(long nanoseconds) throws InterruptedException {
        var found = new Object() {
            E item;
        };
        itemsBell.await(() -> (found.item = pollOrThrow()) != null, nanoseconds);
        return found.item;
    }

    private E pollOrThrow() {
        // Read before the look, which then finds all that was pushed before the queue was closed.
        boolean wasClosed = isClosed;
        E item = poll();
        if (item == null && wasClosed) {
            throw new ClosedException();
        }
        return item;
    }

    @Override
    public final int drainTo(Collection<? super E> into) {
        return drainTo(into, Integer.MAX_VALUE);
    }

    @Override
    public final int drainTo(Collection<? super E> into, int most) {
        if (into == this) {
            throw new IllegalArgumentException("a queue can't be drained into itself");
        }
        Objects.requireNonNull(into);
        // Not those that are pushed meanwhile: otherwise it might never end.
        int inside = Math.min(most, size());
        int done = 0;
        for (E item; done < inside && (item = poll()) != null; done++) {
            into.add(item);
        }
        return done;
    }

    @Override
    public final int remainingCapacity() {
        return Math.max(0, capacity() - size());
    }

    /** Removes nothing. So a pool of threads that is shut down runs its tasks, and takes none back. */
    @Override
    public final boolean remove(Object item) {
        return false;
    }

    /** Not supported. */
    @Override
    public final Iterator<E> iterator() {
        throw new UnsupportedOperationException("a queue's items can only be popped");
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

package corelane.shm;

import java.lang.foreign.MemorySegment;
import java.time.Duration;

/** The sending side of a {@link Lane}. */
public final class ItemProducer extends Side {
    private final ItemLayout layout;
    private long line;
    /** The position of the line's first item, and the number of items before the next one. */
    private long start;
    private int i;
    private long entered;
    private long limit;

    ItemProducer(Link link, ItemLayout layout) {
        super(link, Link.PRODUCER);
        this.layout = layout;
        if (!resume()) {
            throw refused();
        }
        arrive();
    }

    /** Goes on behind the last item that was pushed. */
    private boolean resume() {
        int n = layout.n();
        long last = -1;
        long index = 0;
        for (long number = 0; number < layout.lines(); number++) {
            long tail = (long) Link.LONG.getOpaque(memory, layout.line(number));
            // A line that was never entered has the tail of its own start.
            if (tail != number * n && tail > last) {
                last = tail;
                index = number;
            }
        }
        long number = last < 0 ? 0 : (last - 1) / n;
        if (last == 0 || number % layout.lines() != index) {
            return false;
        }
        line = layout.line(number);
        start = number * n;
        i = last < 0 ? 0 : (int) (last - start);
        entered = number + 1;
        limit = entered;
        look();
        return true;
    }

    private void look() {
        long read = (long) Link.LONG.getAcquire(memory, ItemLayout.READ_AT);
        long free = read + layout.lines() - entered;
        // Another process, which isn't to be trusted, may have written anything.
        limit = free >= 0 && free <= layout.lines() ? entered + free : entered;
    }

    private boolean enter() {
        if (entered == limit) {
            look();
        }
        if (entered == limit) {
            return false;
        }
        line = layout.line(entered);
        start += layout.n();
        i = 0;
        entered++;
        return true;
    }

    /** Items that were pushed since the lane was made, by all processes that have had this side. */
    public long position() {
        return start + i;
    }

    /** The lane's memory, in which {@link #tryClaim} gives places. */
    public MemorySegment memory() {
        return memory;
    }

    /** Where the next item is to be written, or -1 if there is no room. {@link #publish} pushes it. */
    public long tryClaim() {
        if (i == layout.n() && !enter()) {
            return -1;
        }
        return line + layout.itemsAt() + i * layout.size();
    }

    /** Pushes the item that was written at the claimed place. */
    public void publish() {
        show();
        wake();
    }

    private void show() {
        i++;
        Link.LONG.setRelease(memory, line, start + i);
    }

    /** Pushes a copy of the item, if there is room. */
    public boolean tryPush(MemorySegment item) {
        long at = tryClaim();
        if (at < 0) {
            return false;
        }
        MemorySegment.copy(item, 0, memory, at, layout.size());
        publish();
        return true;
    }

    /** Pushes a copy of the item. Waits for room. False if there is none and the consumer is gone. */
    public boolean push(MemorySegment item) {
        return push(item, Lane.FOREVER);
    }

    /** As {@link #push(MemorySegment)}, for at most so long: then false, too. */
    public boolean push(MemorySegment item, Duration timeout) {
        if (tryPush(item)) {
            return true;
        }
        await(() -> i < layout.n() || enter() || isClosed(), timeout.toNanos());
        return tryPush(item);
    }

    /** Pushes as many of {@code n} items in a row as fit, and returns their number. */
    public int tryPushMany(MemorySegment items, int n) {
        int done = 0;
        while (done < n) {
            long at = tryClaim();
            if (at < 0) {
                break;
            }
            int run = Math.min(n - done, layout.n() - i);
            MemorySegment.copy(items, done * layout.size(), memory, at, run * layout.size());
            i += run - 1;
            show();
            done += run;
        }
        if (done > 0) {
            wake();
        }
        return done;
    }
}

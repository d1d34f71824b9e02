package corelane.shm;

import corelane.ring.LineLayout;
import corelane.ring.LineProducer;
import java.lang.foreign.MemorySegment;
import java.time.Duration;

/** The sending side of a {@link Lane}. */
public final class ItemProducer extends Side {
    private final LineLayout layout;
    private final LineProducer ring;

    ItemProducer(Link link, LineLayout layout) {
        super(link, Link.PRODUCER);
        this.layout = layout;
        long position = lastPosition();
        if (position < 0) {
            throw refused();
        }
        ring = LineProducer.at(memory, layout, Lane.LINES_AT, Lane.READ_AT, position);
        arrive();
    }

    /** The position behind the last item that was pushed; -1 if the lane is damaged. */
    private long lastPosition() {
        int n = layout.n();
        long last = 0;
        long index = 0;
        for (long number = 0; number < layout.lines(); number++) {
            long tail = (long) Link.LONG.getOpaque(memory, Lane.LINES_AT + layout.line(number));
            // A line that was never entered has the tail of its own start.
            if (tail != number * n && tail > last) {
                last = tail;
                index = number;
            }
        }
        boolean isPossible = last == 0 || (last - 1) / n % layout.lines() == index;
        return isPossible ? last : -1;
    }

    /** Items that were pushed since the lane was made, by all processes that have had this side. */
    public long position() {
        return ring.position();
    }

    /** The lane's memory, in which {@link #tryClaim} gives places. */
    public MemorySegment memory() {
        return memory;
    }

    /** Where the next item is to be written, or -1 if there is no room. {@link #publish} pushes it. */
    public long tryClaim() {
        return ring.claim();
    }

    /** Pushes the item that was written at the claimed place. */
    public void publish() {
        ring.publish(1);
        wake();
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
        await(() -> ring.hasRoom() || isClosed(), timeout.toNanos());
        return tryPush(item);
    }

    /** Pushes as many of {@code n} items in a row as fit, and returns their number. */
    public int tryPushMany(MemorySegment items, int n) {
        int done = ring.push(items, 0, n);
        if (done > 0) {
            wake();
        }
        return done;
    }
}

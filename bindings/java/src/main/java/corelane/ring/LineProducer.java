package corelane.ring;

import java.lang.foreign.MemorySegment;
import java.lang.ref.Reference;

/**
 * The sending side of a ring of lines ({@code linering}). Each line has a counter, {@code tail}, and some
 * items. A push writes the item and then {@code tail}, in a line that the producer already owns. No line is
 * cleared: a {@code tail} of the lap before is smaller than any position of this lap.
 */
public abstract class LineProducer extends Pad {
    private final MemorySegment memory;
    private final long lines;
    private final long stride;
    private final int n;
    private final long size;
    /** From a line's address to the place of its first item in {@code memory}. */
    private final long toItems;
    /** Addresses: of the first line, behind the last one, and of the number of lines that are free again. */
    private final long first;
    private final long end;
    private final long readAt;
    /** The address of the line. */
    private long line;
    /** The position of the line's first item, and the number of items before the next one. */
    private long start;
    private int i;
    /** Lines entered, and how many may be entered. */
    private long entered;
    private long limit;

    private LineProducer(MemorySegment memory, LineLayout layout, long linesAt, long readAt, long position) {
        this.memory = memory;
        lines = layout.lines();
        stride = layout.stride();
        n = layout.n();
        size = layout.size();
        toItems = layout.itemsAt() - memory.address();
        first = memory.address() + linesAt;
        end = first + layout.bytes();
        this.readAt = memory.address() + readAt;
        long number = position == 0 ? 0 : (position - 1) / n;
        line = first + layout.line(number);
        start = number * n;
        i = (int) (position - start);
        entered = number + 1;
        look();
    }

    /**
     * A producer that goes on at a position.
     *
     * @param linesAt where the first line is in {@code memory}
     * @param readAt where the consumer writes how many lines it has left
     */
    public static LineProducer at(
            MemorySegment memory, LineLayout layout, long linesAt, long readAt, long position) {
        return new Padded(memory, layout, linesAt, readAt, position);
    }

    private void look() {
        // Acquire ↔ Release in the consumer's `leave`: the items of the lines are taken.
        long read = (long) Raw.LONG.getAcquire(Raw.ALL, readAt);
        long free = read + lines - entered;
        // Another process, which isn't to be trusted, may have written anything.
        limit = free >= 0 && free <= lines ? entered + free : entered;
        Reference.reachabilityFence(memory);
    }

    private boolean enter() {
        if (entered == limit) {
            look();
        }
        if (entered == limit) {
            return false;
        }
        line += stride;
        if (line == end) {
            line = first;
        }
        start += n;
        i = 0;
        entered++;
        return true;
    }

    /** Items pushed. */
    public final long position() {
        return start + i;
    }

    /** Whether there is room for an item. */
    public final boolean hasRoom() {
        return i < n || enter();
    }

    /** Where the next item is to be written, or -1 if there is no room. */
    public final long claim() {
        if (i == n && !enter()) {
            return -1;
        }
        return line + toItems + i * size;
    }

    /** Places in a row from the claimed one on. */
    public final int run() {
        return n - i;
    }

    /** Pushes the item that was written at the claimed place, and those that follow it in the line. */
    public final void publish(int items) {
        i += items;
        // Release ↔ Acquire in the consumer's `look`: the items.
        Raw.LONG.setRelease(Raw.ALL, line, start + i);
        Reference.reachabilityFence(memory);
    }

    /** Pushes as many of the items in a row from {@code from} on as fit, and returns their number. */
    public final int push(MemorySegment items, long from, int wanted) {
        int done = 0;
        while (done < wanted) {
            long at = claim();
            if (at < 0) {
                break;
            }
            int run = Math.min(wanted - done, n - i);
            MemorySegment.copy(items, from + done * size, memory, at, run * size);
            publish(run);
            done += run;
        }
        return done;
    }

    @SuppressWarnings("unused")
    private static final class Padded extends LineProducer {
        private long z0, z1, z2, z3, z4, z5, z6, z7, z8, z9, z10, z11, z12, z13, z14, z15;

        Padded(MemorySegment memory, LineLayout layout, long linesAt, long readAt, long position) {
            super(memory, layout, linesAt, readAt, position);
        }
    }
}

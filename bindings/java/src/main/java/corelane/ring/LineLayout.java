package corelane.ring;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.MemorySegment;

/**
 * Where the items of a ring of lines are: in lines, each with a counter and some items.
 *
 * @param size bytes of an item
 * @param n items in a line
 * @param itemsAt where the items begin in their line
 * @param stride bytes from one line to the next
 * @param lines number of lines
 * @param together how many lines the consumer gives back together
 */
public record LineLayout(long size, int n, long itemsAt, long stride, long lines, long together) {
    private static final long LINE = 64;

    /** The layout for at least {@code capacity} items of {@code size} bytes. */
    public static LineLayout of(long size, long align, long capacity) {
        if (size <= 0 || align <= 0 || align > 8 || Long.bitCount(align) != 1 || size % align != 0) {
            throw new IllegalArgumentException(
                    "an item has " + size + " bytes, aligned to " + align + ": not possible");
        }
        if (capacity <= 0 || capacity > 1L << 40) {
            throw new IllegalArgumentException("a queue for " + capacity + " items is not possible");
        }
        long fit = (LINE - 8) / size;
        boolean isGroup = fit < 2 && size <= 1024;
        int n = isGroup ? 8 : (int) Math.max(1, fit);
        long itemsAt = isGroup ? LINE : 8;
        long stride = (itemsAt + n * size + LINE - 1) / LINE * LINE;
        long needed = (capacity + n - 1) / n;
        long together = Long.highestOneBit(Math.min(64, (needed + 3) / 4));
        return new LineLayout(size, n, itemsAt, stride, needed + together + 1, together);
    }

    /** Whether a line is several lines of the machine, the first with the counter. */
    public boolean isGroup() {
        return itemsAt == LINE;
    }

    /** Items that always fit. */
    public long capacity() {
        return (lines - together - 1) * n;
    }

    /** Bytes of all lines. */
    public long bytes() {
        return lines * stride;
    }

    /** Makes all lines empty, in memory that no other thread knows yet. */
    public void empty(MemorySegment memory, long linesAt) {
        for (long number = 0; number < lines; number++) {
            // With this counter the line has no items.
            memory.set(JAVA_LONG, linesAt + line(number), number * n);
        }
    }

    /** Where the line of this number is, from the first one. */
    public long line(long number) {
        return number % lines * stride;
    }
}

package corelane.shm;

/** Where the items of a lane are: lines, each with a counter and some items. */
record ItemLayout(long size, int n, long itemsAt, long stride, long lines, long together) {
    static final long READ_AT = 4224;
    static final long POPPED_AT = 4352;
    static final long LINES_AT = 4608;
    private static final long LINE = 64;

    static ItemLayout of(long size, long align, long capacity) {
        if (size <= 0 || align <= 0 || align > 8 || Long.bitCount(align) != 1 || size % align != 0) {
            throw new IllegalArgumentException(
                    "an item has " + size + " bytes, aligned to " + align + ": not possible");
        }
        if (capacity <= 0 || capacity > 1L << 40) {
            throw new IllegalArgumentException("a lane for " + capacity + " items is not possible");
        }
        long fit = (LINE - 8) / size;
        boolean isGroup = fit < 2 && size <= 1024;
        int n = isGroup ? 8 : (int) Math.max(1, fit);
        long itemsAt = isGroup ? LINE : 8;
        long stride = (itemsAt + n * size + LINE - 1) / LINE * LINE;
        long needed = (capacity + n - 1) / n;
        long together = Long.highestOneBit(Math.min(64, (needed + 3) / 4));
        return new ItemLayout(size, n, itemsAt, stride, needed + together + 1, together);
    }

    boolean isGroup() {
        return itemsAt == LINE;
    }

    long length() {
        return Link.rounded(LINES_AT + lines * stride);
    }

    /** Where the line of this number is. */
    long line(long number) {
        return LINES_AT + number % lines * stride;
    }
}

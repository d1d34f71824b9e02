package corelane.shm;

/** Where the records of a lane are: words, in a ring. */
record RecordLayout(long words, long longest) {
    static final long READ_AT = 4224;
    static final long POPPED_AT = 4352;
    static final long PUSHED_AT = 4480;
    static final long WORDS_AT = 4792;
    /** The lower half of a head that says that the record begins at the start of the ring. */
    static final long SKIP = 0xffff_ffffL;

    private static final int LARGE = 64;

    static RecordLayout of(long capacity, long longest) {
        if (capacity <= 0 || capacity > 1L << 40 || longest < 0 || longest > 1L << 32) {
            throw new IllegalArgumentException("a lane for " + capacity + " bytes is not possible");
        }
        long words = (capacity + 7) / 8;
        long most = words(longest == 0 ? 8 * ((words + 3) / 4 - 1) : longest);
        long needed = Math.max(words, most) + most + 1;
        return new RecordLayout(needed + (needed + 6) / 7, most);
    }

    /** Words of a record of this length, with its head. */
    static long words(long length) {
        long words = (length + 7) / 8 + 1;
        return words < LARGE ? words : (words + 7) / 8 * 8;
    }

    /** A head of the record of this number. The kind: 0 for none, SKIP, or the length plus 1. */
    static long head(long number, long kind) {
        return number << 32 | kind;
    }

    long maxLength() {
        return Math.min(8 * (longest - 1), SKIP - 2);
    }

    long length() {
        return Link.rounded(WORDS_AT + 8 * words);
    }

    long at(long index) {
        return WORDS_AT + 8 * index;
    }

    /** The whole number of a head's record, which is {@code near}, or one less or more. -1: it is another one. */
    static long number(long head, long near) {
        for (long number = near - 1; number <= near + 1; number++) {
            if ((number & SKIP) == head >>> 32) {
                return number;
            }
        }
        return -1;
    }
}

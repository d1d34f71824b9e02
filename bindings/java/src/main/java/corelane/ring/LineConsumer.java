package corelane.ring;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;

import java.lang.foreign.MemorySegment;
import java.lang.invoke.VarHandle;
import java.lang.ref.Reference;

/**
 * The receiving side of a ring of lines. It reads a line's {@code tail} once, and then pops all items before
 * this position. It publishes the number of lines that it has left, once for many lines.
 */
public abstract class LineConsumer extends Pad {
    private final MemorySegment memory;
    private final long stride;
    private final int n;
    private final long size;
    private final boolean isGroup;
    private final boolean isRecording;
    private final long together;
    private final long farBehind;
    /** From a line's address to the place of its first item in {@code memory}. */
    private final long toItems;
    /** Addresses: of the first line, behind the last one, of the lines given back, and of the position. */
    private final long first;
    private final long end;
    private final long readAt;
    private final long poppedAt;
    private final Distance distance = new Distance();
    /** The address of the line. */
    private long line;
    /** The position of the line's first item, and the number of items before the next one. */
    private long start;
    private int i;
    /** Items of the line that were seen. */
    private int filled;
    private long left;

    private LineConsumer(
            MemorySegment memory, LineLayout layout, long linesAt, long readAt, long poppedAt, long position) {
        this.memory = memory;
        stride = layout.stride();
        n = layout.n();
        size = layout.size();
        isGroup = layout.isGroup();
        isRecording = poppedAt >= 0;
        together = layout.together();
        farBehind = layout.lines() / 2 * n;
        toItems = layout.itemsAt() - memory.address();
        first = memory.address() + linesAt;
        end = first + layout.bytes();
        this.readAt = memory.address() + readAt;
        this.poppedAt = memory.address() + poppedAt;
        left = position / n;
        line = first + layout.line(left);
        start = left * n;
        i = (int) (position - start);
        filled = i;
    }

    /**
     * A consumer that goes on at a position.
     *
     * @param linesAt where the first line is in {@code memory}
     * @param readAt where it writes how many lines it has left
     * @param poppedAt where it writes its position after each pop; -1 if no other process needs it
     */
    public static LineConsumer at(
            MemorySegment memory, LineLayout layout, long linesAt, long readAt, long poppedAt, long position) {
        return new Padded(memory, layout, linesAt, readAt, poppedAt, position);
    }

    /** Goes behind a line. */
    private void leave() {
        // Unchanged, but this core owns the line when the producer needs it next.
        Raw.LONG.setOpaque(Raw.ALL, line, start + n);
        left++;
        start += n;
        line += stride;
        if (line == end) {
            line = first;
        }
        i = 0;
        filled = 0;
        if ((left & together - 1) == 0) {
            // Release ↔ Acquire in the producer's `look`: the items are taken.
            Raw.LONG.setRelease(Raw.ALL, readAt, left);
        }
    }

    private int seen() {
        // Acquire ↔ Release in the producer's `publish`: the items.
        long seen = (long) Raw.LONG.getAcquire(Raw.ALL, line) - start;
        Reference.reachabilityFence(memory);
        return (int) Math.max(0, Math.min(seen, n));
    }

    private boolean refill() {
        if (i == n) {
            leave();
        }
        filled = seen();
        return i < filled;
    }

    /** As {@link #refill}, at a distance from a producer that is writing into the line. */
    private boolean follow() {
        boolean found = refill();
        if (filled != n && distance.caughtUp(start + i, farBehind)) {
            int before = filled;
            filled = seen();
            distance.lookedAgain(filled > before);
            found = i < filled;
        }
        return found;
    }

    /** Items popped. */
    public final long position() {
        return start + i;
    }

    /** Lines left: when it changes, lines may have been given back. */
    public final long left() {
        return left;
    }

    /** Whether there is an item. It never waits. */
    public final boolean hasItem() {
        return i < filled || refill();
    }

    /** Where the oldest item is, or -1 if there is none. */
    public final long peek() {
        if (i >= filled && !follow()) {
            return -1;
        }
        return line + toItems + i * size;
    }

    /** The same; {@link #run} then says how many there are in a row. */
    public final long peekRun() {
        if (i < filled && filled < n) {
            filled = seen();
        }
        return peek();
    }

    /** Items in a row from the oldest on, after a {@link #peek} that has found one. */
    public final int run() {
        return filled - i;
    }

    /** Whether the next item is in the next line. */
    public final boolean isAtEnd() {
        return i == n;
    }

    /** Removes the oldest items of the line. */
    public final void release(int items) {
        long released = line + toItems + i * size;
        i += items;
        if (isRecording) {
            Raw.LONG.setOpaque(Raw.ALL, poppedAt, start + i);
            Reference.reachabilityFence(memory);
            if (isGroup) {
                // A consumer that dies has not touched items that it has not recorded.
                VarHandle.storeStoreFence();
            }
        }
        if (isGroup) {
            // The lines are this core's when the producer needs them next.
            for (long b = 0; b < items * size; b += 64) {
                memory.set(JAVA_BYTE, released + b, (byte) 0);
            }
        }
    }

    /** Copies up to {@code wanted} items to {@code to}, removes them, and returns their number. */
    public final int pop(MemorySegment into, long to, int wanted) {
        int done = 0;
        while (done < wanted) {
            long at = hasItem() ? line + toItems + i * size : -1;
            if (at < 0) {
                break;
            }
            int run = Math.min(wanted - done, run());
            MemorySegment.copy(memory, at, into, to + done * size, run * size);
            release(run);
            done += run;
        }
        return done;
    }

    @SuppressWarnings("unused")
    private static final class Padded extends LineConsumer {
        private long z0, z1, z2, z3, z4, z5, z6, z7, z8, z9, z10, z11, z12, z13, z14, z15;

        Padded(MemorySegment memory, LineLayout layout, long linesAt, long readAt, long poppedAt, long position) {
            super(memory, layout, linesAt, readAt, poppedAt, position);
        }
    }
}

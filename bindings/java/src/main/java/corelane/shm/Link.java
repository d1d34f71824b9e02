package corelane.shm;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.VarHandle;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/** A lane's memory, and which processes have its sides. */
final class Link implements AutoCloseable {
    static final int PRODUCER = 0;
    static final int CONSUMER = 1;
    /** Where the queue begins, with the word that says which sides are there. */
    static final long QUEUE_AT = 4096;

    static final VarHandle LONG = JAVA_LONG.varHandle();
    static final VarHandle INT = JAVA_INT.varHandle();

    private static final long VERSION = 2;
    private static final long CAPACITY_AT = 48;
    private static final long LONGEST_AT = 56;
    private static final long LENGTH_AT = 64;
    private static final long DIED_AT = 72;
    private static final String[] FIELDS = {
        "magic number", "version of the layout", "queue", "size of an item", "alignment of an item",
        "hash of the item's name"
    };
    /** The bits of presence that say that a side is there, and the lowest bit of its epoch. */
    private static final long ENDS = (1 << 20) - 1;
    private static final long EPOCH = 1 << 20;
    private static final long HALF = 0xffff_ffffL;
    private static final long MOST_EPOCHS = HALF / EPOCH;

    final MemorySegment memory;
    /** For questions about locks: it has none itself. */
    final int file;

    /** What a lane carries. */
    record Carried(String queue, long size, long align, String name) {
        private long[] words() {
            return new long[] {
                word("corelane"), VERSION, word(queue), size, align, hash(name)
            };
        }
    }

    /** A new lane. */
    static Link create(Carried carried, long capacity, long longest, long length) {
        Link link = new Link(Libc.create(length), length);
        long[] words = carried.words();
        for (int i = 0; i < words.length; i++) {
            link.memory.set(JAVA_LONG, 8L * i, words[i]);
        }
        link.memory.set(JAVA_LONG, CAPACITY_AT, capacity);
        link.memory.set(JAVA_LONG, LONGEST_AT, longest);
        link.memory.set(JAVA_LONG, LENGTH_AT, length);
        link.memory.set(JAVA_LONG, QUEUE_AT, 1 | 1L << 32);
        return link;
    }

    /** A lane that another process has made. */
    static Link open(Carried carried, Path path) {
        int file = Libc.open(path);
        try {
            if (!Libc.isSealed(file)) {
                throw notALane();
            }
            Link link = new Link(file, length(file));
            link.check(carried.words());
            return link;
        } catch (LaneException error) {
            Libc.close(file);
            throw error;
        }
    }

    private Link(int file, long length) {
        this.file = file;
        try (FileChannel channel = FileChannel.open(
                path("self", file), StandardOpenOption.READ, StandardOpenOption.WRITE)) {
            memory = channel.map(FileChannel.MapMode.READ_WRITE, 0, length, Arena.ofAuto());
        } catch (IOException error) {
            throw new LaneException("the lane can't be mapped: " + error);
        }
    }

    /** Where a descriptor of a process is. */
    static Path path(Object process, int descriptor) {
        return Path.of("/proc/" + process + "/fd/" + descriptor);
    }

    /** Where other processes find the lane. */
    Path path() {
        return path(ProcessHandle.current().pid(), file);
    }

    private static long length(int file) {
        try (FileChannel channel = FileChannel.open(path("self", file), StandardOpenOption.READ)) {
            if (channel.size() < QUEUE_AT) {
                throw notALane();
            }
            return channel.size();
        } catch (IOException error) {
            throw new LaneException("the lane can't be read: " + error);
        }
    }

    static LaneException notALane() {
        return new LaneException(
                "this is not a lane; pass the path or the descriptor that the lane's maker gave");
    }

    private void check(long[] expected) {
        for (int i = 0; i < expected.length; i++) {
            long found = memory.get(JAVA_LONG, 8L * i);
            if (found == expected[i]) {
                continue;
            }
            if (i == 0) {
                throw notALane();
            }
            throw new LaneException("the lane has another " + FIELDS[i] + ": "
                    + Long.toUnsignedString(found) + " instead of " + Long.toUnsignedString(expected[i])
                    + "; build both programs with the same item and the same corelane");
        }
    }

    /** The file's length must be that of a lane of this length. */
    void checkLength(long needed) {
        if (memory.get(JAVA_LONG, LENGTH_AT) != needed || memory.byteSize() != needed) {
            throw corrupt();
        }
    }

    static LaneException corrupt() {
        return new LaneException("the memory of the lane is damaged; make a new lane in all its processes");
    }

    long capacity() {
        return memory.get(JAVA_LONG, CAPACITY_AT);
    }

    long longest() {
        return memory.get(JAVA_LONG, LONGEST_AT);
    }

    /** The length of a lane whose queue ends there. */
    static long rounded(long end) {
        return (end + QUEUE_AT - 1) / QUEUE_AT * QUEUE_AT;
    }

    private long presence() {
        return (long) LONG.getAcquire(memory, QUEUE_AT);
    }

    private static long half(long presence, int side) {
        return presence >>> 32 * side & HALF;
    }

    /** Whether this side is gone. */
    boolean isGone(int side) {
        return (half(presence(), side) & ENDS) == 0;
    }

    /** Changes when a process takes this side. */
    long epoch(int side) {
        return half(presence(), side) / EPOCH;
    }

    /** A process has taken this side. */
    void take(int side) {
        LONG.setOpaque(memory, DIED_AT + 8L * side, 0L);
        for (;;) {
            long seen = presence();
            long epoch = half(seen, side) / EPOCH % MOST_EPOCHS + 1;
            long taken = seen & ~(HALF << 32 * side) | epoch * EPOCH + 1 << 32 * side;
            if (LONG.compareAndSet(memory, QUEUE_AT, seen, taken)) {
                return;
            }
        }
    }

    /** This side is gone, unless another process has taken it since. */
    boolean leave(int side, long seen) {
        for (long now = seen;;) {
            long found = (long) LONG.compareAndExchange(
                    memory, QUEUE_AT, now, now & ~(ENDS << 32 * side));
            if (found == now) {
                return true;
            }
            if (half(found, side) != half(seen, side)) {
                return false;
            }
            now = found;
        }
    }

    void leave(int side) {
        leave(side, presence());
    }

    /** Closes a side whose owner is dead. Whether it has. */
    boolean bury(int side) {
        long seen = presence();
        long half = half(seen, side);
        if (half / EPOCH == 0 || (half & ENDS) == 0 || Libc.isLocked(file, side)) {
            return false;
        }
        if (!leave(side, seen)) {
            return false;
        }
        LONG.setOpaque(memory, DIED_AT + 8L * side, half / EPOCH + 1);
        return true;
    }

    Peer peer(int side) {
        bury(side);
        long half = half(presence(), side);
        if (half / EPOCH == 0) {
            return Peer.ABSENT;
        }
        if ((half & ENDS) != 0) {
            return Peer.ALIVE;
        }
        long died = (long) LONG.getOpaque(memory, DIED_AT + 8L * side);
        return died == half / EPOCH + 1 ? Peer.DIED : Peer.LEFT;
    }

    @Override
    public void close() {
        Libc.close(file);
    }

    /** Eight characters as a word. */
    private static long word(String text) {
        long word = 0;
        byte[] bytes = text.getBytes(StandardCharsets.US_ASCII);
        for (int i = 0; i < bytes.length; i++) {
            word |= (long) bytes[i] << 8 * i;
        }
        return word;
    }

    /** FNV-1a of a type's name, without the paths in it. */
    static long hash(String name) {
        long hash = 0xcbf29ce484222325L;
        for (String part : name.split("(?<=[<>,;\\[\\]() ])")) {
            String last = part.substring(part.lastIndexOf("::") < 0 ? 0 : part.lastIndexOf("::") + 2);
            for (byte b : last.getBytes(StandardCharsets.UTF_8)) {
                hash = (hash ^ b & 0xff) * 0x100000001b3L;
            }
        }
        return hash;
    }
}

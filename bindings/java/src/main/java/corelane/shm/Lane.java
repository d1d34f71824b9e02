package corelane.shm;

import corelane.ring.LineLayout;
import java.nio.file.Path;
import java.time.Duration;

/**
 * A lane for items of one size, between one producer and one consumer, which may be in several processes and
 * in several languages.
 *
 * <pre>{@code
 * try (Lane lane = Lane.create("Tick", 16, 8, 1024); ItemConsumer rx = lane.consumer()) {
 *     start("worker", lane.path()); // it opens the lane by Lane.open(path, "Tick", 16, 8)
 *     MemorySegment item = Arena.ofAuto().allocate(16, 8);
 *     while (rx.pop(item)) {
 *         use(item.get(ValueLayout.JAVA_LONG, 0));
 *     }
 * }
 * }</pre>
 */
public final class Lane implements AutoCloseable {
    /** As a time that is never over. */
    static final Duration FOREVER = Duration.ofNanos(Long.MAX_VALUE);

    /** Where the consumer writes how many lines it has left, and its position. */
    static final long READ_AT = 4224;

    static final long POPPED_AT = 4352;
    static final long LINES_AT = 4608;

    private final Link link;
    private final LineLayout layout;

    private Lane(Link link, LineLayout layout) {
        this.link = link;
        this.layout = layout;
    }

    /**
     * Makes a lane for at least {@code capacity} items. It is in no file system, and vanishes with its last
     * process.
     *
     * @param name the name of the item's type, as in the program on the other side: "Tick" for Rust's struct
     * @param size bytes of an item
     * @param align its alignment, at most 8
     */
    public static Lane create(String name, long size, long align, long capacity) {
        LineLayout layout = LineLayout.of(size, align, capacity);
        Link link = Link.create(carried(name, size, align), capacity, 0, length(layout));
        layout.empty(link.memory, LINES_AT);
        return new Lane(link, layout);
    }

    /** Opens a lane by a descriptor that this process has inherited, for such items. */
    public static Lane open(int descriptor, String name, long size, long align) {
        return open(Link.path("self", descriptor), name, size, align);
    }

    /** Opens a lane at the path that its maker has told, for such items. */
    public static Lane open(Path path, String name, long size, long align) {
        LineLayout.of(size, align, 1);
        Link link = Link.open(carried(name, size, align), path);
        LineLayout layout = LineLayout.of(size, align, link.capacity());
        link.checkLength(length(layout));
        return new Lane(link, layout);
    }

    private static long length(LineLayout layout) {
        return Link.rounded(LINES_AT + layout.bytes());
    }

    private static Link.Carried carried(String name, long size, long align) {
        return new Link.Carried("linering", size, align, name);
    }

    /** Takes the sending side, where the last producer has stopped. */
    public ItemProducer producer() {
        return new ItemProducer(link, layout);
    }

    /** Takes the receiving side, where the last consumer has stopped. */
    public ItemConsumer consumer() {
        return new ItemConsumer(link, layout);
    }

    /**
     * Where processes of the same user find the lane, as long as this handle is open: they open it by
     * {@link #open(Path, String, long, long)}. Java closes all descriptors in a process that it starts.
     */
    public Path path() {
        return link.path();
    }

    /** Closes the lane's handle. Sides that were taken go on, but find no dead process any more. */
    @Override
    public void close() {
        link.close();
    }
}

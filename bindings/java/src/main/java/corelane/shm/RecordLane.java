package corelane.shm;

import java.nio.file.Path;

/** A lane for byte records of any length, between one producer and one consumer. As {@link Lane}. */
public final class RecordLane implements AutoCloseable {
    private static final Link.Carried CARRIED = new Link.Carried("records", 1, 8, "[u8]");

    private final Link link;
    private final RecordLayout layout;

    private RecordLane(Link link, RecordLayout layout) {
        this.link = link;
        this.layout = layout;
    }

    /**
     * Makes a lane for at least {@code capacity} bytes of records.
     *
     * @param longest bytes of the longest record, or 0: a quarter of the capacity
     */
    public static RecordLane create(long capacity, long longest) {
        RecordLayout layout = RecordLayout.of(capacity, longest);
        return new RecordLane(Link.create(CARRIED, capacity, longest, layout.length()), layout);
    }

    /** Opens a lane by a descriptor that this process has inherited. */
    public static RecordLane open(int descriptor) {
        return open(Link.path("self", descriptor));
    }

    /** Opens a lane at the path that its maker has told. */
    public static RecordLane open(Path path) {
        Link link = Link.open(CARRIED, path);
        RecordLayout layout = RecordLayout.of(link.capacity(), link.longest());
        link.checkLength(layout.length());
        return new RecordLane(link, layout);
    }

    /** Takes the sending side, where the last producer has stopped. */
    public RecordProducer producer() {
        return new RecordProducer(link, layout);
    }

    /** Takes the receiving side, where the last consumer has stopped. */
    public RecordConsumer consumer() {
        return new RecordConsumer(link, layout);
    }

    /** As {@link Lane#path}. */
    public Path path() {
        return link.path();
    }

    /** As {@link Lane#close}. */
    @Override
    public void close() {
        link.close();
    }
}

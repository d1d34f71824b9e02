package corelane;

/** The queue is closed: it takes no more items, and has none left. */
public final class ClosedException extends IllegalStateException {
    private static final long serialVersionUID = 1;

    ClosedException() {
        super("the queue is closed");
    }
}

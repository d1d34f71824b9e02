package corelane.stress;

/** An item whose field is not final: a thread that gets it without an order may see 0. */
final class Box {
    int number;

    Box(int number) {
        this.number = number;
    }

    /** The number of a popped item; -1 if there was none. */
    static int of(Box item) {
        return item == null ? -1 : item.number;
    }
}

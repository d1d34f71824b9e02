package corelane.ring;

/** The sending side of {@link Blocks}. */
public abstract sealed class Producers extends Pad permits OneProducer, SeveralProducers {
    /** A slot to fill; {@link Blocks#NOTHING} or {@link Blocks#YET} if there is none. */
    public abstract int claim();

    /**
     * Up to {@code wanted} slots in a row: the first one in the low half, which may say that there is none,
     * and their number in the high half.
     */
    public abstract long claim(int wanted);

    /** Writes the item to a slot of {@code items}, and publishes it. 1, or as {@link #claim()}. */
    public abstract int push(Object[] items, Object item);

    /** Publishes filled slots, which were claimed together. */
    public abstract void publish(int slot, int n);
}

package corelane.ring;

/** The receiving side of {@link Blocks}. */
public abstract sealed class Consumers extends Pad permits OneConsumer, SeveralConsumers {
    /** A slot with an item, which is now the caller's; {@link Blocks#NOTHING} or {@link Blocks#YET} if none. */
    public abstract int reserve();

    /**
     * Up to {@code wanted} slots in a row: the first one in the low half, which may say that there is none,
     * and their number in the high half.
     */
    public abstract long reserve(int wanted);

    /** Gives slots back, which were reserved together. */
    public abstract void release(int slot, int n);

    /** The oldest of {@code items}, which remains; null if there is none. */
    public abstract Object peek(Object[] items);

    /** Items inside: a snapshot. */
    public abstract int size();
}

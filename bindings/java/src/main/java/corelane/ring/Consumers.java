package corelane.ring;

/** The receiving side of {@link Blocks}. */
public abstract sealed class Consumers extends Pad permits OneConsumer, SeveralConsumers {
    /** An item whose push, or that of one before it, is unfinished. */
    public static final Object YET = new Object();

    /** A slot with an item, which is now the caller's; {@link Blocks#NOTHING} or {@link Blocks#YET} if none. */
    public abstract int reserve();

    /**
     * Up to {@code wanted} slots in a row: the first one in the low half, which may say that there is none,
     * and their number in the high half.
     */
    public abstract long reserve(int wanted);

    /** Takes the item of a slot of {@code items}. Null if there is none, {@link #YET} if not yet. */
    public abstract Object pop(Object[] items);

    /** Whether more items may follow those that were reserved last, in the next block. */
    public abstract boolean isAtEnd();

    /** Gives slots back, which were reserved together. */
    public abstract void release(int slot, int n);

    /** The oldest of {@code items}, which remains; null if there is none. */
    public abstract Object peek(Object[] items);

    /** Items inside: a snapshot. */
    public abstract int size();
}

package corelane.ring;

/**
 * Fields that nothing uses. A side of a queue extends them, and has a subclass with as many behind its own.
 * So no other object is in the cache lines that the side writes.
 */
@SuppressWarnings("unused")
public abstract class Pad {
    private long a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15;
}

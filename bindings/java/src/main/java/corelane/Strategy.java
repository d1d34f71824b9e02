package corelane;

/** How the calls of a queue wait. */
public enum Strategy {
    /** Looks all the time. It takes a whole core. Not for virtual threads. */
    SPIN,
    /**
     * Looks for a while, and then yields before each look. It takes a core that no other thread wants. Not for
     * virtual threads: those that yield can keep others from ever starting.
     */
    YIELD,
    /** Looks and yields for some microseconds, and then sleeps: the default. */
    SPIN_THEN_SLEEP,
    /** Sleeps at once. */
    SLEEP
}

package corelane.shm;

/** The process on the other side of a lane, as far as it is known. */
public enum Peer {
    /** No process has taken that side yet. */
    ABSENT,
    /** A process has it. */
    ALIVE,
    /** The last such process has closed its handle. */
    LEFT,
    /** The last such process ended without that, or was killed. */
    DIED
}

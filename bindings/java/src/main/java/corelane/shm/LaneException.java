package corelane.shm;

/** A lane can't be made, opened or used. The message names the mend. */
public final class LaneException extends RuntimeException {
    private static final long serialVersionUID = 1;

    /** For this reason. */
    LaneException(String message) {
        super(message);
    }
}

package corelane.ring;

/**
 * How long a consumer waits before it looks again at slots that the producer is writing. A consumer that
 * follows a stream too closely costs both sides a cache miss for each look.
 */
public final class Distance extends Pad {
    private static final int MOST = 16;
    private static final int MOST_IF_FAST = 64;
    private static final long FAST = 32;
    /** With so many items between two catch-ups, items come as a stream. */
    private static final long STREAM = 3;

    private long mark;
    private int pauses;
    private int inVain;
    private int rest;

    /**
     * The consumer has caught up with the producer at {@code position}. Whether it has waited, and should look
     * again.
     */
    public boolean caughtUp(long position, long farBehind) {
        long run = position - mark;
        mark = position;
        if (run < STREAM) {
            pauses /= 2;
        } else if (rest > 0) {
            rest--;
            return false;
        } else if (run < farBehind) {
            int most = run >= FAST && inVain < 4 ? MOST_IF_FAST : MOST;
            pauses = Math.min(2 * pauses + 1, most);
        }
        for (int i = 0; i < pauses; i++) {
            Thread.onSpinWait();
        }
        return pauses > 0;
    }

    /** Called after the look that follows a wait. After several waits in vain, items come in bursts. */
    public void lookedAgain(boolean hasFound) {
        if (pauses >= MOST) {
            inVain = hasFound ? 0 : Math.min(inVain + 1, 1000);
            if (inVain >= 4) {
                pauses = 0;
                rest = Math.min(16 << Math.min(inVain - 4, 6), 1024);
            }
        }
    }
}

package corelane.bench;

/** How a loop waits after a call that found nothing: as the Disruptor's YieldingWaitStrategy. */
final class Idle {
    private int tries;

    void found() {
        tries = 0;
    }

    void idle() {
        if (++tries < 100) {
            Thread.onSpinWait();
        } else {
            Thread.yield();
        }
    }
}

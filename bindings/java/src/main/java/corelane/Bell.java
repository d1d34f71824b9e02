package corelane;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;

/**
 * Wakes the sleepers of one side of a queue.
 *
 * <p>While no thread sleeps, {@link #ring} is one load of a word that no thread writes. There is no fence
 * between the ringer's store to the queue and this load. So the ringer can miss a thread that goes to sleep
 * at this moment. The store is visible some hundred nanoseconds later, when it has left the ringer's store
 * buffer. So a sleeper's first sleep is short, and it looks again. Java promises no such time. So later
 * sleeps have a limit as well: at worst a sleeper is late, and never sleeps for ever.
 */
final class Bell {
    private static final VarHandle COUNT;
    private static final int SPINS = 200;
    private static final int YIELDS = 20;
    /** Nanoseconds of the first sleep, and of the longest. */
    private static final long FIRST = 50_000;
    private static final long LONGEST = 1_000_000_000;

    static {
        try {
            COUNT = MethodHandles.lookup().findVarHandle(Bell.class, "count", int.class);
        } catch (ReflectiveOperationException error) {
            throw new ExceptionInInitializerError(error);
        }
    }

    private final Strategy strategy;
    /** Whether each thread that has slept wakes another: one ring may be for many, as a block's room is. */
    private final boolean isPassedOn;
    private final Queue<Sleeper> sleepers = new ConcurrentLinkedQueue<>();
    /** Threads that sleep, or are about to. */
    @SuppressWarnings("unused")
    private int count;

    private static final class Sleeper {
        final Thread thread = Thread.currentThread();
        /** Whether a ringer has taken it off the list. */
        volatile boolean isRung;
    }

    Bell(Strategy strategy, boolean isPassedOn) {
        this.strategy = strategy;
        this.isPassedOn = isPassedOn;
    }

    /** Wakes a sleeper, if there is one. */
    void ring() {
        ring(1);
    }

    /** Wakes up to {@code most} sleepers. */
    void ring(int most) {
        if ((int) COUNT.getOpaque(this) != 0) {
            wake(most);
        }
    }

    private void wake(int most) {
        for (int i = 0; i < most; i++) {
            Sleeper sleeper = sleepers.poll();
            if (sleeper == null) {
                return;
            }
            sleeper.isRung = true;
            LockSupport.unpark(sleeper.thread);
        }
    }

    /** Waits until {@code look} succeeds. False if it hasn't in so many nanoseconds. */
    boolean await(BooleanSupplier look, long nanoseconds) throws InterruptedException {
        long begin = System.nanoTime();
        for (int i = 0;; i++) {
            if (look.getAsBoolean()) {
                return true;
            }
            if (Thread.interrupted()) {
                throw new InterruptedException();
            }
            if (nanoseconds != Long.MAX_VALUE && System.nanoTime() - begin >= nanoseconds) {
                return false;
            }
            if (strategy == Strategy.SLEEP || strategy == Strategy.SPIN_THEN_SLEEP && i >= SPINS + YIELDS) {
                return sleep(look, begin, nanoseconds);
            } else if (i >= SPINS && strategy != Strategy.SPIN) {
                Thread.yield();
            } else {
                Thread.onSpinWait();
            }
        }
    }

    private boolean sleep(BooleanSupplier look, long begin, long nanoseconds) throws InterruptedException {
        Sleeper sleeper = new Sleeper();
        long interval = FIRST;
        sleepers.add(sleeper);
        // A fence: the looks come after it.
        COUNT.getAndAdd(this, 1);
        try {
            for (;;) {
                if (look.getAsBoolean()) {
                    return true;
                }
                if (Thread.interrupted()) {
                    throw new InterruptedException();
                }
                long left = nanoseconds - (System.nanoTime() - begin);
                if (left <= 0) {
                    return false;
                }
                LockSupport.parkNanos(this, Math.min(left, interval));
                interval = Math.min(20 * interval, LONGEST);
                if (sleeper.isRung) {
                    sleeper.isRung = false;
                    interval = FIRST;
                    sleepers.add(sleeper);
                }
            }
        } finally {
            COUNT.getAndAdd(this, -1);
            // If it isn't on the list, a ringer chose this thread, which needs nothing more: another one may.
            if (!sleepers.remove(sleeper) || isPassedOn) {
                wake(1);
            }
        }
    }
}

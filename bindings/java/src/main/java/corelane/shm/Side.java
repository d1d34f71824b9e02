package corelane.shm;

import java.lang.foreign.MemorySegment;
import java.lang.invoke.VarHandle;
import java.time.Duration;
import java.util.function.BooleanSupplier;

/**
 * A side of a lane, which this process has until it closes the handle or ends. It belongs to one thread at
 * a time.
 */
public abstract sealed class Side implements AutoCloseable
        permits ItemProducer, ItemConsumer, RecordProducer, RecordConsumer {
    /** Where consumers sleep, and where the producer does. */
    private static final long[] SLEEP_AT = {256, 128};

    private static final int SLEEPERS = (1 << 12) - 1;
    private static final int FENCED = 1 << 12;
    private static final int STATE = FENCED | SLEEPERS;
    private static final int RING = 1 << 13;
    private static final int SPINS = 200;
    private static final long FIRST_LOOK = 64_000_000;
    private static final long LAST_LOOK = 1_000_000_000;
    private static final long UNFENCED = 1_000_000;

    final Link link;
    final MemorySegment memory;
    private final int side;
    /** Has the lock. */
    private int seat;

    Side(Link link, int side) {
        this.link = link;
        this.memory = link.memory;
        this.side = side;
        seat = Libc.open(Link.path("self", link.file));
        if (!Libc.lock(seat, side, Libc.F_WRLCK)) {
            Libc.close(seat);
            throw new LaneException("a live process has the " + (side == 0 ? "producer" : "consumer")
                    + " of this lane; end it, or make a lane for each");
        }
        link.take(side);
    }

    /** Tells sleepers of the other side that this one is there. */
    final void arrive() {
        wakeAll();
    }

    /** Releases the side, if it can't be used. */
    final LaneException refused() {
        close();
        return Link.corrupt();
    }

    /** Whether the other side is gone. What it did before is visible then. */
    public final boolean isClosed() {
        return link.isGone(1 - side);
    }

    /** The process on the other side. If it is dead, that side is closed from now on. */
    public final Peer peer() {
        return link.peer(1 - side);
    }

    /**
     * Waits until a process has the other side. False when the time is over. A process that comes and leaves
     * again during the call counts.
     */
    public final boolean waitForPeer(Duration timeout) {
        long before = link.epoch(1 - side);
        return await(() -> peer() == Peer.ALIVE || link.epoch(1 - side) != before, timeout.toNanos());
    }

    /** Gives the side back. A second call does nothing. */
    @Override
    public final void close() {
        if (seat >= 0) {
            link.leave(side);
            wakeAll();
            Libc.close(seat);
            seat = -1;
        }
    }

    private MemorySegment futex(long at) {
        return memory.asSlice(at, 4);
    }

    /** Wakes a thread of the other side, if one sleeps. */
    final void wake() {
        // The sleeper counts itself, and then looks: one of both sees the other.
        VarHandle.fullFence();
        if (((int) Link.INT.getOpaque(memory, SLEEP_AT[1 - side]) & STATE) != 0) {
            wake(1);
        }
    }

    private void wakeAll() {
        VarHandle.fullFence();
        wake(SLEEPERS);
    }

    private void wake(int most) {
        long at = SLEEP_AT[1 - side];
        if (takeOff(at, most) && Libc.wake(futex(at), most == 1 ? 1 : Integer.MAX_VALUE) == 0) {
            // A process has died asleep.
            takeOff(at, SLEEPERS);
            Libc.wake(futex(at), Integer.MAX_VALUE);
        }
    }

    /** Takes up to so many sleepers off the count. Whether there were any. */
    private boolean takeOff(long at, int most) {
        for (;;) {
            int seen = (int) Link.INT.getVolatile(memory, at);
            int sleepers = seen & SLEEPERS;
            if (sleepers == 0) {
                return false;
            }
            if (Link.INT.compareAndSet(memory, at, seen, seen + RING - Math.min(most, sleepers))) {
                return true;
            }
        }
    }

    /** Waits until the look succeeds. False when the time is over. */
    final boolean await(BooleanSupplier look, long nanoseconds) {
        for (int i = 0; i < SPINS; i++) {
            if (look.getAsBoolean()) {
                return true;
            }
            Thread.onSpinWait();
        }
        long begin = System.nanoTime();
        long interval = FIRST_LOOK;
        while (System.nanoTime() - begin < nanoseconds) {
            int announced = announce();
            boolean found = look.getAsBoolean();
            if (!found) {
                long left = nanoseconds - (System.nanoTime() - begin);
                long time = (announced & FENCED) != 0 ? interval : UNFENCED;
                Libc.sleep(futex(SLEEP_AT[side]), announced, Math.max(0, Math.min(left, time)));
                interval = Math.min(2 * interval, LAST_LOOK);
                link.bury(1 - side);
            }
            retire(announced);
            if (found) {
                return true;
            }
        }
        return look.getAsBoolean();
    }

    /** Counts this thread as a sleeper, and runs a fence. Returns the word. */
    private int announce() {
        long at = SLEEP_AT[side];
        int seen = (int) Link.INT.getAndAdd(memory, at, 1) + 1;
        // The fence is in the addition.
        if ((seen & FENCED) != 0 || !Libc.heavyFence()) {
            return seen;
        }
        // From now on, the other side runs fences.
        for (int now = seen; now / RING == seen / RING;) {
            int found = (int) Link.INT.compareAndExchange(memory, at, now, now | FENCED);
            if (found == now) {
                return now | FENCED;
            }
            now = found;
        }
        return seen;
    }

    /** Takes this thread off the count, unless a wake-up has. */
    private void retire(int announced) {
        for (;;) {
            int seen = (int) Link.INT.getVolatile(memory, SLEEP_AT[side]);
            if (seen / RING != announced / RING || (seen & SLEEPERS) == 0
                    || Link.INT.compareAndSet(memory, SLEEP_AT[side], seen, seen - 1)) {
                return;
            }
        }
    }
}

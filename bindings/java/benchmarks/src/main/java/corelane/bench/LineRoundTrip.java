package corelane.bench;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/** The floor: how long two threads need to bounce a flag, in nanoseconds. */
final class LineRoundTrip {
    private static final VarHandle FLAG = MethodHandles.arrayElementVarHandle(long[].class);
    private static final int TURNS = 20_000;

    private LineRoundTrip() {}

    static long measure() throws InterruptedException {
        long[] flags = new long[64];
        long best = Long.MAX_VALUE;
        for (int i = 0; i < 10; i++) {
            long base = (long) i * TURNS;
            Thread other = Thread.ofPlatform().start(() -> bounce(flags, base, 16, 48));
            long begin = System.nanoTime();
            for (long turn = 1; turn <= TURNS; turn++) {
                FLAG.setRelease(flags, 16, base + turn);
                while ((long) FLAG.getAcquire(flags, 48) < base + turn) {
                    Thread.onSpinWait();
                }
            }
            best = Math.min(best, (System.nanoTime() - begin) / TURNS);
            other.join();
        }
        return best;
    }

    private static void bounce(long[] flags, long base, int from, int to) {
        for (long turn = 1; turn <= TURNS; turn++) {
            while ((long) FLAG.getAcquire(flags, from) < base + turn) {
                Thread.onSpinWait();
            }
            FLAG.setRelease(flags, to, base + turn);
        }
    }
}

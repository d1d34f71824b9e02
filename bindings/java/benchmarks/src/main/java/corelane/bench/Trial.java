package corelane.bench;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CyclicBarrier;

/** One candidate in a Java machine of its own. It prints nanoseconds an item, the round trip, and the batch. */
final class Trial {
    /** For so many nanoseconds results are left out, while the compiler is at work. */
    private static final long WARM_UP = 1_500_000_000;
    private static final int RUNS = 3;
    /** After so many nanoseconds no more run begins. */
    private static final long LONGEST = 5_000_000_000L;

    private Trial() {}

    public static void main(String[] arguments) throws Exception {
        Thread.setDefaultUncaughtExceptionHandler((thread, error) -> {
            error.printStackTrace();
            System.exit(1);
        });
        String name = arguments[0];
        int producers = Integer.parseInt(arguments[1]);
        int consumers = Integer.parseInt(arguments[2]);
        boolean each = Boolean.parseBoolean(arguments[3]);
        long items = Long.parseLong(arguments[4]);
        int capacity = Integer.parseInt(arguments[5]);
        int batch = Integer.parseInt(arguments[6]);
        Candidate candidate = Candidates.of(name, producers, consumers, each, capacity, batch);
        long begin = System.nanoTime();
        do {
            run(candidate, producers, consumers, each, items, batch);
        } while (System.nanoTime() - begin < WARM_UP);
        double[] results = new double[RUNS];
        int runs = 0;
        do {
            results[runs++] = run(candidate, producers, consumers, each, items, batch);
        } while (runs < RUNS && System.nanoTime() - begin < LONGEST);
        results = Arrays.copyOf(results, runs);
        Arrays.sort(results);
        System.out.println(results[runs / 2] + " " + LineRoundTrip.measure() + " " + candidate.averageBatch());
    }

    private static double run(
            Candidate candidate, int producers, int consumers, boolean each, long items, int batch) throws Exception {
        // A call of the sender pushes many items, so that it costs nothing itself.
        int step = (1000 + batch - 1) / batch * batch;
        long share = items / producers / step * step;
        long all = share * producers;
        CyclicBarrier barrier = new CyclicBarrier(producers + consumers);
        List<Thread> threads = new ArrayList<>();
        long[] sums = new long[consumers];
        long[] begins = new long[producers + consumers];
        long[] ends = new long[producers + consumers];
        for (int i = 0; i < producers; i++) {
            int number = i;
            Candidate.Sender sender = candidate.sender(i);
            threads.add(Thread.ofPlatform().start(() -> {
                begins[number] = begin(barrier);
                for (long at = 0; at < share; at += step) {
                    sender.send(at, step);
                }
                ends[number] = System.nanoTime();
            }));
        }
        for (int i = 0; i < consumers; i++) {
            int number = i;
            Candidate.Receiver receiver = candidate.receiver(i);
            long mine = each ? all : all / consumers + (i < all % consumers ? 1 : 0);
            threads.add(Thread.ofPlatform().start(() -> {
                begins[producers + number] = begin(barrier);
                sums[number] = receiver.receive(mine);
                ends[producers + number] = System.nanoTime();
            }));
        }
        for (Thread thread : threads) {
            thread.join();
        }
        long expected = 0;
        for (long i = 0; i < share; i++) {
            expected += Candidates.value(i);
        }
        expected *= producers * (each ? consumers : 1);
        if (Arrays.stream(sums).sum() != expected) {
            throw new IllegalStateException("items were lost or doubled");
        }
        long time = Arrays.stream(ends).max().orElseThrow() - Arrays.stream(begins).min().orElseThrow();
        return time / (double) all;
    }

    private static long begin(CyclicBarrier barrier) {
        try {
            barrier.await();
        } catch (Exception error) {
            throw new IllegalStateException(error);
        }
        return System.nanoTime();
    }
}

package corelane.bench;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.StringJoiner;

/**
 * The Disruptor's throughput workloads, with any number of producers or consumers, over the Disruptor and over
 * queues. Each trial has a Java machine of its own, and candidates take turns: A B C A B C.
 */
public final class Workloads {
    private static final int CAPACITY = 1 << 16;
    /** Above this a round trip of a line says that the cores are far from each other. */
    private static final double FAR = 250;

    private final int rounds;
    private final long items;
    private final List<Map<String, Object>> rows = new ArrayList<>();

    private Workloads(int rounds, long items) {
        this.rounds = rounds;
        this.items = items;
    }

    private record Result(double time, double roundTrip, double batch) {
        boolean isFar() {
            return roundTrip > FAR;
        }
    }

    /** A candidate, and the items in one of its calls. */
    private record Entry(String name, int batch) {
        String label() {
            return batch == 1 ? name : name + " by " + batch;
        }
    }

    public static void main(String[] arguments) throws Exception {
        int rounds = 5;
        long items = 5_000_000;
        List<String> workloads = new ArrayList<>();
        Path json = null;
        try {
            for (int i = 0; i < arguments.length; i++) {
                switch (arguments[i]) {
                    case "--rounds" -> rounds = Integer.parseUnsignedInt(arguments[++i]);
                    case "--items" -> items = Long.parseUnsignedLong(arguments[++i]);
                    case "--json" -> json = Path.of(arguments[++i]);
                    default -> workloads.add(arguments[i]);
                }
            }
        } catch (NumberFormatException | ArrayIndexOutOfBoundsException error) {
            System.err.println("--rounds and --items need a number, --json a file");
            System.exit(2);
        }
        if (workloads.isEmpty()) {
            workloads = List.of("1:1", "3:1", "8:1", "32:1", "1:3", "1:8", "1:32");
        }
        for (String workload : workloads) {
            if (!workload.matches("[1-9]\\d?:1|1:[1-9]\\d?")) {
                System.err.println("a workload is like 1:1, 3:1 or 1:3 (producers:consumers), not " + workload);
                System.exit(2);
            }
        }
        Workloads all = new Workloads(rounds, items);
        System.out.printf(
                "%d rounds, %,d items a trial, capacity %,d, Java %s, %s, %d cores%n",
                rounds, items, CAPACITY, Runtime.version(), cpu(), Runtime.getRuntime().availableProcessors());
        for (String workload : workloads) {
            String[] sides = workload.split(":");
            all.run(Integer.parseInt(sides[0]), Integer.parseInt(sides[1]));
        }
        if (json != null) {
            all.write(json);
        }
    }

    private static String cpu() throws IOException {
        Path info = Path.of("/proc/cpuinfo");
        if (!Files.isReadable(info)) {
            return System.getProperty("os.arch");
        }
        try (var lines = Files.lines(info)) {
            return lines.filter(line -> line.startsWith("model name"))
                    .map(line -> line.substring(line.indexOf(':') + 2))
                    .findFirst()
                    .orElse(System.getProperty("os.arch"));
        }
    }

    private void run(int producers, int consumers) throws Exception {
        boolean each = consumers > 1;
        long share = items / Math.max(1, (producers + consumers) / 4);
        String name = producers + ":" + consumers;
        // The Disruptor decides how many items its consumer takes at a time. Queues then get as many a call, as
        // in the paper (J. Wang 2024, §2.6.3.3).
        List<Double> batches = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            batches.add(trial(new Entry("disruptor", 1), producers, consumers, each, share).batch);
        }
        batches.sort(null);
        int batch = (int) Math.max(2, Math.min(1024, Math.round(batches.get(1))));
        List<Entry> entries = new ArrayList<>();
        entries.add(new Entry("disruptor", 1));
        if (producers == 1) {
            entries.add(new Entry("lines", 1));
            entries.add(new Entry("lines", batch));
        }
        entries.add(new Entry("items", 1));
        entries.add(new Entry("items", batch));
        entries.add(new Entry("blocks", 1));
        entries.add(new Entry("blocks", batch));
        entries.add(new Entry("jni", 1));
        entries.add(new Entry("jni", batch));
        entries.add(new Entry("jctools", 1));
        entries.add(new Entry("jctools", batch));
        entries.add(new Entry("agrona", 1));
        entries.add(new Entry("ArrayBlockingQueue", 1));
        entries.add(new Entry("LinkedTransferQueue", 1));
        if (System.getProperty("corelane.jni") == null) {
            entries.removeIf(entry -> entry.name.equals("jni"));
        }
        Map<Entry, List<Result>> results = new LinkedHashMap<>();
        for (int round = 0; round < rounds; round++) {
            for (Entry entry : entries) {
                System.err.printf("\r%s, round %d of %d: %-30s", name, round + 1, rounds, entry.label());
                results.computeIfAbsent(entry, key -> new ArrayList<>())
                        .add(trial(entry, producers, consumers, each, share));
            }
        }
        System.err.print("\r" + " ".repeat(70) + "\r");
        System.out.printf("%n%s%s%n", name, each ? ", each consumer gets all items" : "");
        for (boolean far : new boolean[] {false, true}) {
            table(name, batches.get(1), results, far);
        }
    }

    private Result trial(Entry entry, int producers, int consumers, boolean each, long share) throws Exception {
        List<String> command = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "--enable-native-access=ALL-UNNAMED",
                "--add-opens=java.base/jdk.internal.misc=ALL-UNNAMED",
                "--sun-misc-unsafe-memory-access=allow",
                "-cp",
                System.getProperty("java.class.path")));
        if (System.getProperty("corelane.jni") != null) {
            command.add("-Dcorelane.jni=" + System.getProperty("corelane.jni"));
        }
        command.add(Trial.class.getName());
        for (Object argument : new Object[] {
            entry.name, producers, consumers, each, share, CAPACITY, entry.batch
        }) {
            command.add(argument.toString());
        }
        Process process = new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.DISCARD).start();
        try (BufferedReader reader = new BufferedReader(new InputStreamReader(process.getInputStream()))) {
            String line = reader.readLine();
            if (process.waitFor() != 0 || line == null) {
                throw new IOException(String.join(" ", command) + " failed");
            }
            String[] words = line.split(" ");
            return new Result(
                    Double.parseDouble(words[0]), Double.parseDouble(words[1]), Double.parseDouble(words[2]));
        }
    }

    private void table(String workload, double batch, Map<Entry, List<Result>> results, boolean far) {
        double[] disruptor = times(results.get(new Entry("disruptor", 1)), far);
        boolean isShown = false;
        for (Map.Entry<Entry, List<Result>> entry : results.entrySet()) {
            double[] times = times(entry.getValue(), far);
            if (times.length == 0) {
                continue;
            }
            if (!isShown) {
                System.out.printf(
                        "cores %s; the Disruptor's average batch: %.1f%n%-28s %9s %17s %7s %8s%n",
                        far ? "far" : "near", batch, "", "ns/item", "quartiles", "trials", "factor");
                isShown = true;
            }
            double median = quantile(times, 0.5);
            double factor = disruptor.length == 0 ? Double.NaN : quantile(disruptor, 0.5) / median;
            System.out.printf(
                    "%-28s %9.2f %8.2f %8.2f %7d %8.2f%n",
                    entry.getKey().label(), median, quantile(times, 0.25), quantile(times, 0.75), times.length, factor);
            Map<String, Object> row = new LinkedHashMap<>();
            row.put("workload", workload);
            row.put("far", far);
            row.put("queue", entry.getKey().name);
            row.put("batch", entry.getKey().batch);
            row.put("disruptorBatch", batch);
            row.put("times", times);
            rows.add(row);
        }
    }

    private static double[] times(List<Result> results, boolean far) {
        return results.stream().filter(result -> result.isFar() == far).mapToDouble(Result::time).sorted().toArray();
    }

    private static double quantile(double[] sorted, double q) {
        double at = q * (sorted.length - 1);
        int below = (int) at;
        int above = Math.min(below + 1, sorted.length - 1);
        return sorted[below] + (at - below) * (sorted[above] - sorted[below]);
    }

    private void write(Path path) throws IOException {
        StringJoiner array = new StringJoiner(",\n", "[", "]\n");
        for (Map<String, Object> row : rows) {
            StringJoiner object = new StringJoiner(", ", "{", "}");
            row.forEach((key, value) -> object.add("\"" + key + "\": " + switch (value) {
                case String text -> "\"" + text + "\"";
                case double[] times -> Arrays.toString(times);
                default -> value.toString();
            }));
            array.add(object.toString());
        }
        Files.writeString(path, array.toString());
    }
}

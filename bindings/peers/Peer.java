import static java.lang.foreign.ValueLayout.JAVA_LONG;

import corelane.shm.ItemConsumer;
import corelane.shm.ItemProducer;
import corelane.shm.Lane;
import corelane.shm.LaneException;
import corelane.shm.RecordConsumer;
import corelane.shm.RecordLane;
import corelane.shm.RecordProducer;
import corelane.shm.Side;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Supplier;

/** The peer in Java. */
final class Peer {
    private static final class Wrong extends RuntimeException {
        private static final long serialVersionUID = 1;

        Wrong(String message) {
            super(message);
        }
    }

    public static void main(String[] arguments) {
        try {
            run(arguments);
        } catch (LaneException | Wrong error) {
            System.err.println("peer in Java: " + error.getMessage());
            System.exit(1);
        }
    }

    private static void run(String[] arguments) {
        if (arguments.length != 4) {
            throw new Wrong("use: peer push|pop items|records DESCRIPTOR ITEMS");
        }
        boolean isPush = arguments[0].equals("push");
        boolean isRecords = arguments[1].equals("records");
        int descriptor = Integer.parseInt(arguments[2]);
        long items = Long.parseLong(arguments[3]);
        if (isRecords) {
            RecordLane lane = RecordLane.open(descriptor);
            if (isPush) {
                pushRecords(side(lane::producer), items);
            } else {
                popRecords(side(lane::consumer), items);
            }
        } else {
            Lane lane = Lane.open(descriptor, "Tick", 16, 8);
            if (isPush) {
                push(side(lane::producer), items);
            } else {
                pop(side(lane::consumer), items);
            }
        }
    }

    /** Takes a side, which the system may still give back after a kill. */
    private static <S> S side(Supplier<S> take) {
        for (int i = 0;; i++) {
            try {
                return take.get();
            } catch (LaneException error) {
                if (!error.getMessage().startsWith("a live process") || i == 5000) {
                    throw error;
                }
                LockSupport.parkNanos(1_000_000);
            }
        }
    }

    private static long product(long number) {
        return number * 0x9E3779B97F4A7C15L;
    }

    private static int words(long number) {
        return 1 + (int) (number % 16);
    }

    private static void meet(Side side) {
        if (!side.waitForPeer(Duration.ofSeconds(20))) {
            throw new Wrong("no peer has come");
        }
    }

    private static void check(boolean isNext, long next) {
        if (!isNext) {
            throw new Wrong("another item instead of " + next);
        }
    }

    private static void push(ItemProducer tx, long items) {
        MemorySegment item = Arena.global().allocate(16, 8);
        for (long next; (next = tx.position()) < items;) {
            item.set(JAVA_LONG, 0, next);
            item.set(JAVA_LONG, 8, product(next));
            if (!tx.push(item)) {
                meet(tx);
            }
        }
        tx.close();
    }

    private static void pop(ItemConsumer rx, long items) {
        MemorySegment item = Arena.global().allocate(16, 8);
        for (long next; (next = rx.position()) < items;) {
            if (rx.pop(item)) {
                check(item.get(JAVA_LONG, 0) == next && item.get(JAVA_LONG, 8) == product(next), next);
            } else {
                meet(rx);
            }
        }
        rx.close();
    }

    private static void pushRecords(RecordProducer tx, long items) {
        for (long next; (next = tx.position()) < items;) {
            long at = tx.claim(8L * words(next));
            if (at < 0) {
                meet(tx);
                continue;
            }
            for (int i = 0; i < words(next); i++) {
                tx.memory().set(JAVA_LONG, at + 8L * i, next);
            }
            tx.commit(8L * words(next));
        }
        tx.close();
    }

    private static void popRecords(RecordConsumer rx, long items) {
        for (long next; (next = rx.position()) < items;) {
            MemorySegment record = rx.peek();
            if (record == null) {
                meet(rx);
                continue;
            }
            check(record.byteSize() == 8L * words(next), next);
            for (int i = 0; i < words(next); i++) {
                check(record.get(JAVA_LONG, 8L * i) == next, next);
            }
            rx.release();
        }
        rx.close();
    }
}

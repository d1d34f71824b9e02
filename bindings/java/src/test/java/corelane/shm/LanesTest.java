package corelane.shm;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.Test;

/** Lanes in one process, and the images that Rust has made. */
class LanesTest {
    private static final Arena ARENA = Arena.ofAuto();

    /** The words of a lane that are not 0, as the images have them. */
    private static String image(MemorySegment memory) {
        StringBuilder text = new StringBuilder("length " + memory.byteSize() + "\n");
        for (long at = 0; at < memory.byteSize(); at += 8) {
            long word = memory.get(JAVA_LONG, at);
            if (word != 0) {
                text.append(at).append(String.format(" %016x%n", word));
            }
        }
        return text.toString();
    }

    private static void same(String name, MemorySegment memory) throws IOException {
        String kept = Files.readString(Path.of("../../docs/lane-bytes", name));
        String expected = kept.substring(kept.indexOf('\n') + 1);
        if (name.startsWith("items")) {
            // A hint of Rust's producer, which this one doesn't give.
            expected = expected.replaceAll("(?m)^4488 .*\n", "");
        }
        assertEquals(expected, image(memory), name);
    }

    private static void items(String name, String type, int size, int align, long capacity, long pushed, long popped)
            throws IOException {
        try (Lane lane = Lane.create(type, size, align, capacity);
                ItemProducer tx = lane.producer();
                ItemConsumer rx = lane.consumer()) {
            MemorySegment item = ARENA.allocate(size, 8);
            for (long number = 0; number < pushed; number++) {
                if (number >= 10 && number - 10 < popped) {
                    assertTrue(rx.tryPop(item));
                    assertEquals(number - 9, item.get(JAVA_BYTE, 0) & 0xff | (number - 9) & ~0xffL);
                }
                item.fill((byte) 0);
                for (int b = 0; b < Math.min(size, 8); b++) {
                    item.set(JAVA_BYTE, b, (byte) (number + 1 >>> 8 * b));
                }
                assertTrue(tx.tryPush(item));
            }
            while (rx.position() < popped) {
                assertTrue(rx.tryPop(item));
            }
            same(name, tx.memory());
        }
    }

    @Test
    void itemsLieWhereRustPutsThem() throws IOException {
        items("items-8", "u64", 8, 8, 100, 10, 3);
        items("items-8-laps", "u64", 8, 8, 100, 1000, 995);
        items("items-4", "u32", 4, 4, 100, 20, 17);
        items("items-16", "[u64; 2]", 16, 8, 100, 10, 3);
        items("items-24", "[u64; 3]", 24, 8, 100, 10, 3);
        items("items-32", "[u64; 4]", 32, 8, 100, 10, 3);
        items("items-64-laps", "[u64; 8]", 64, 8, 20, 100, 95);
        items("items-1600", "[u64; 200]", 1600, 8, 20, 10, 3);
    }

    @Test
    void recordsLieWhereRustPutsThem() throws IOException {
        for (int rounds : new int[] {1, 5}) {
            try (RecordLane lane = RecordLane.create(4096, 0);
                    RecordProducer tx = lane.producer();
                    RecordConsumer rx = lane.consumer()) {
                for (int round = 1; round <= rounds; round++) {
                    for (long length : new long[] {0, 5, 100, 600}) {
                        assertTrue(tx.push(ARENA.allocate(length).fill((byte) 0x55)));
                    }
                    for (int i = 0; i < (round == rounds ? 2 : 4); i++) {
                        assertEquals(new long[] {0, 5, 100, 600}[i], rx.tryPeek().byteSize());
                        rx.release();
                    }
                }
                same(rounds == 1 ? "records" : "records-laps", tx.memory());
            }
        }
    }

    @Test
    void sidesAreTakenOnce() {
        try (Lane lane = Lane.create("Tick", 16, 8, 10)) {
            ItemProducer tx = lane.producer();
            assertEquals(Peer.ABSENT, tx.peer());
            assertThrows(LaneException.class, lane::producer);
            assertFalse(tx.waitForPeer(Duration.ofMillis(5)));
            ItemConsumer rx = lane.consumer();
            assertEquals(Peer.ALIVE, tx.peer());
            assertTrue(tx.tryPush(ARENA.allocate(16)));
            tx.close();
            tx.close();
            assertEquals(Peer.LEFT, rx.peer());
            assertTrue(rx.pop(ARENA.allocate(16)));
            assertFalse(rx.pop(ARENA.allocate(16)));
            assertEquals(1, lane.producer().position());
            rx.close();
        }
    }

    @Test
    void fullAndEmptyEndInTime() {
        try (Lane lane = Lane.create("u64", 8, 8, 20);
                ItemProducer tx = lane.producer();
                ItemConsumer rx = lane.consumer()) {
            MemorySegment item = ARENA.allocate(8);
            assertFalse(rx.pop(item, Duration.ofMillis(5)));
            int pushed = 0;
            while (tx.tryPush(item)) {
                pushed++;
            }
            assertTrue(pushed >= 20);
            assertFalse(tx.push(item, Duration.ofMillis(5)));
            assertEquals(pushed, rx.tryPopMany(ARENA.allocate(8L * pushed), pushed));
            assertEquals(20, tx.tryPushMany(ARENA.allocate(160), 20));
        }
    }

    @Test
    void threadsSleepAndWakeEachOther() throws InterruptedException {
        try (Lane lane = Lane.create("u64", 8, 8, 8); ItemConsumer rx = lane.consumer()) {
            ItemProducer tx = lane.producer();
            Thread sender = new Thread(() -> {
                MemorySegment item = ARENA.allocate(8);
                for (long number = 0; number < 200_000; number++) {
                    item.set(JAVA_LONG, 0, number);
                    assertTrue(tx.push(item));
                    if (number % 50_000 == 0) {
                        java.util.concurrent.locks.LockSupport.parkNanos(10_000_000);
                    }
                }
                tx.close();
            });
            sender.start();
            MemorySegment item = ARENA.allocate(8);
            long next = 0;
            while (rx.pop(item)) {
                assertEquals(next++, item.get(JAVA_LONG, 0));
            }
            assertEquals(200_000, next);
            sender.join();
        }
    }

    /** The program of another process: it pushes numbers. */
    static final class Sender {
        public static void main(String[] arguments) {
            MemorySegment item = ARENA.allocate(16);
            try (Lane lane = Lane.open(Path.of(arguments[0]), "Tick", 16, 8); ItemProducer tx = lane.producer()) {
                for (long number = 0; number < 1000; number++) {
                    item.set(JAVA_LONG, 0, number);
                    assertTrue(tx.push(item));
                }
            }
        }
    }

    @Test
    void aProcessOpensTheLaneByItsPath() throws IOException, InterruptedException {
        try (Lane lane = Lane.create("Tick", 16, 8, 20); ItemConsumer rx = lane.consumer()) {
            String java = Path.of(System.getProperty("java.home"), "bin", "java").toString();
            Process sender = new ProcessBuilder(java, "--enable-native-access=ALL-UNNAMED", "-cp",
                    System.getProperty("surefire.test.class.path", System.getProperty("java.class.path")) + ":target/classes",
                    Sender.class.getName(), lane.path().toString()).inheritIO().start();
            MemorySegment item = ARENA.allocate(16);
            for (long number = 0; number < 1000; number++) {
                assertTrue(rx.pop(item, Duration.ofSeconds(20)));
                assertEquals(number, item.get(JAVA_LONG, 0));
            }
            assertEquals(0, sender.waitFor());
            assertFalse(rx.pop(item));
            assertEquals(Peer.LEFT, rx.peer());
        }
    }

    @Test
    void whatIsDescribedInAnotherWayIsRefused() {
        try (Lane lane = Lane.create("Tick", 16, 8, 10)) {
            Path path = lane.path();
            String name = assertThrows(LaneException.class, () -> Lane.open(path, "Quote", 16, 8)).getMessage();
            assertTrue(name.contains("name"), name);
            String size = assertThrows(LaneException.class, () -> Lane.open(path, "Tick", 24, 8)).getMessage();
            assertTrue(size.contains("size"), size);
            assertThrows(LaneException.class, () -> RecordLane.open(path));
            assertThrows(LaneException.class, () -> Lane.open(0, "Tick", 16, 8));
            Lane.open(path, "Tick", 16, 8).close();
        }
        assertThrows(IllegalArgumentException.class, () -> Lane.create("u64", 8, 8, 0));
        assertThrows(IllegalArgumentException.class, () -> Lane.create("u64", 12, 8, 1));
    }

    @Test
    void aRecordIsAsLongAsTheLaneAllows() {
        try (RecordLane lane = RecordLane.create(8000, 1000);
                RecordProducer tx = lane.producer();
                RecordConsumer rx = lane.consumer()) {
            assertTrue(tx.maxLength() >= 1000);
            assertThrows(IllegalArgumentException.class, () -> tx.tryClaim(tx.maxLength() + 1));
            assertNull(rx.tryPeek());
            assertThrows(IllegalStateException.class, rx::release);
            for (long number = 0; number < 10_000; number++) {
                long length = number % 1000;
                long at = tx.tryClaim(1000);
                tx.memory().asSlice(at, length).fill((byte) number);
                tx.commit(length);
                MemorySegment record = rx.peek();
                assertEquals(length, record.byteSize());
                assertTrue(length == 0 || record.get(JAVA_BYTE, length - 1) == (byte) number);
                rx.release();
            }
        }
    }
}

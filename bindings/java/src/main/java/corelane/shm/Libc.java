package corelane.shm;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static java.lang.foreign.ValueLayout.JAVA_SHORT;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.StructLayout;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.VarHandle;
import java.nio.file.Path;

/** The system calls of lanes. */
final class Libc {
    static final int F_WRLCK = 1;
    static final int F_UNLCK = 2;
    static final int AGAIN = 11;

    private static final int O_RDWR = 2;
    private static final int O_CLOEXEC = 0x80000;
    private static final int F_ADD_SEALS = 1033;
    private static final int F_GET_SEALS = 1034;
    private static final int F_OFD_GETLK = 36;
    private static final int F_OFD_SETLK = 37;
    private static final int SEAL_SEAL = 1;
    private static final int SEAL_SHRINK = 2;
    private static final int SEAL_GROW = 4;
    private static final int MFD_CLOEXEC = 1;
    private static final int MFD_ALLOW_SEALING = 2;
    private static final long FUTEX_WAIT = 0;
    private static final long FUTEX_WAKE = 1;
    private static final long MEMBARRIER_GLOBAL_EXPEDITED = 2;
    private static final boolean IS_ARM = System.getProperty("os.arch").equals("aarch64");
    private static final long SYS_FUTEX = IS_ARM ? 98 : 202;
    private static final long SYS_MEMBARRIER = IS_ARM ? 283 : 324;

    private static final StructLayout STATE = Linker.Option.captureStateLayout();
    private static final VarHandle ERRNO =
            STATE.varHandle(MemoryLayout.PathElement.groupElement("errno"));
    private static final ThreadLocal<MemorySegment> STATES =
            ThreadLocal.withInitial(() -> Arena.ofAuto().allocate(STATE));

    private static final MethodHandle OPEN = call("open", 2, JAVA_INT, ADDRESS, JAVA_INT);
    private static final MethodHandle CLOSE = call("close", -1, JAVA_INT, JAVA_INT);
    private static final MethodHandle MEMFD_CREATE =
            call("memfd_create", -1, JAVA_INT, ADDRESS, JAVA_INT);
    private static final MethodHandle FALLOCATE =
            call("fallocate", -1, JAVA_INT, JAVA_INT, JAVA_INT, JAVA_LONG, JAVA_LONG);
    private static final MethodHandle FCNTL = call("fcntl", 2, JAVA_INT, JAVA_INT, JAVA_INT, JAVA_INT);
    private static final MethodHandle FCNTL_LOCK =
            call("fcntl", 2, JAVA_INT, JAVA_INT, JAVA_INT, ADDRESS);
    private static final MethodHandle FUTEX =
            call("syscall", 1, JAVA_LONG, JAVA_LONG, ADDRESS, JAVA_LONG, JAVA_LONG, ADDRESS);
    private static final MethodHandle MEMBARRIER =
            call("syscall", 1, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG);

    private Libc() {}

    /** A function of the C library. {@code variadic}: the first variable argument, or -1. */
    private static MethodHandle call(
            String name, int variadic, MemoryLayout result, MemoryLayout... arguments) {
        Linker linker = Linker.nativeLinker();
        MemorySegment symbol = linker.defaultLookup().findOrThrow(name);
        FunctionDescriptor descriptor = FunctionDescriptor.of(result, arguments);
        Linker.Option errno = Linker.Option.captureCallState("errno");
        return variadic < 0 || variadic >= arguments.length
                ? linker.downcallHandle(symbol, descriptor, errno)
                : linker.downcallHandle(
                        symbol, descriptor, errno, Linker.Option.firstVariadicArg(variadic));
    }

    /** The error of this thread's last call. */
    static int errno() {
        return (int) ERRNO.get(STATES.get(), 0L);
    }

    private static int checked(String what, int result) {
        if (result < 0) {
            throw new LaneException("the system refused " + what + " (errno " + errno() + ")");
        }
        return result;
    }

    /** A file, with locks of its own: that of a descriptor is opened anew by its path. */
    static int open(Path path) {
        return checked("to open the lane at " + path, withText(path.toString(), text ->
                (int) OPEN.invokeExact(STATES.get(), text, O_RDWR | O_CLOEXEC)));
    }

    /** A memory file of this length, which no process can make shorter. */
    static int create(long length) {
        int file = checked("a memory file (memfd_create)", withText("corelane", name ->
                (int) MEMFD_CREATE.invokeExact(STATES.get(), name, MFD_CLOEXEC | MFD_ALLOW_SEALING)));
        try {
            checked("memory for the lane (fallocate)", fallocate(file, length));
            int seals = SEAL_SHRINK | SEAL_GROW | SEAL_SEAL;
            checked("to seal the lane", fcntl(file, F_ADD_SEALS, seals));
            return file;
        } catch (LaneException error) {
            close(file);
            throw error;
        }
    }

    /** Whether no process can make the file shorter. */
    static boolean isSealed(int file) {
        int seals = fcntl(file, F_GET_SEALS, 0);
        return seals >= 0 && (seals & SEAL_SHRINK) != 0;
    }

    /** Takes or releases the lock of a byte. Whether it was free. */
    static boolean lock(int file, long at, int kind) {
        try (Arena arena = Arena.ofConfined()) {
            if (lock(file, F_OFD_SETLK, flock(arena, at, kind)) == 0) {
                return true;
            }
            if (errno() == AGAIN) {
                return false;
            }
            throw new LaneException("the system refused a lock of the lane (errno " + errno() + ")");
        }
    }

    /** Whether a process has the lock of a byte. If the system can't tell: yes. */
    static boolean isLocked(int file, long at) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment lock = flock(arena, at, F_WRLCK);
            return lock(file, F_OFD_GETLK, lock) != 0 || lock.get(JAVA_SHORT, 0) != F_UNLCK;
        }
    }

    /** Type, whence, start, length, process. */
    private static MemorySegment flock(Arena arena, long at, int kind) {
        MemorySegment lock = arena.allocate(32, 8);
        lock.set(JAVA_SHORT, 0, (short) kind);
        lock.set(JAVA_LONG, 8, at);
        lock.set(JAVA_LONG, 16, 1);
        return lock;
    }

    /** Sleeps until the word changes, for at most so long. */
    static void sleep(MemorySegment word, int value, long nanoseconds) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment time = arena.allocate(16, 8);
            time.set(JAVA_LONG, 0, nanoseconds / 1_000_000_000);
            time.set(JAVA_LONG, 8, nanoseconds % 1_000_000_000);
            futex(word, FUTEX_WAIT, value & 0xffff_ffffL, time);
        }
    }

    /** Wakes up to {@code n} threads, and returns their number. */
    static long wake(MemorySegment word, long n) {
        return futex(word, FUTEX_WAKE, n, MemorySegment.NULL);
    }

    /** A fence in all threads of registered processes. Whether the system has run it. */
    static boolean heavyFence() {
        try {
            return 0 == (long) MEMBARRIER.invokeExact(
                    STATES.get(), SYS_MEMBARRIER, MEMBARRIER_GLOBAL_EXPEDITED, 0L, 0L);
        } catch (Throwable error) {
            throw unexpected(error);
        }
    }

    static void close(int file) {
        try {
            int ignored = (int) CLOSE.invokeExact(STATES.get(), file);
        } catch (Throwable error) {
            throw unexpected(error);
        }
    }

    private static int fallocate(int file, long length) {
        try {
            return (int) FALLOCATE.invokeExact(STATES.get(), file, 0, 0L, length);
        } catch (Throwable error) {
            throw unexpected(error);
        }
    }

    private static int fcntl(int file, int command, int argument) {
        try {
            return (int) FCNTL.invokeExact(STATES.get(), file, command, argument);
        } catch (Throwable error) {
            throw unexpected(error);
        }
    }

    private static int lock(int file, int command, MemorySegment lock) {
        try {
            return (int) FCNTL_LOCK.invokeExact(STATES.get(), file, command, lock);
        } catch (Throwable error) {
            throw unexpected(error);
        }
    }

    private static long futex(MemorySegment word, long operation, long value, MemorySegment time) {
        try {
            return (long) FUTEX.invokeExact(STATES.get(), SYS_FUTEX, word, operation, value, time);
        } catch (Throwable error) {
            throw unexpected(error);
        }
    }

    private interface WithText {
        int call(MemorySegment text) throws Throwable;
    }

    private static int withText(String text, WithText call) {
        try (Arena arena = Arena.ofConfined()) {
            return call.call(arena.allocateFrom(text));
        } catch (Throwable error) {
            throw unexpected(error);
        }
    }

    /** These calls throw nothing of their own. */
    private static RuntimeException unexpected(Throwable error) {
        if (error instanceof Error fatal) {
            throw fatal;
        }
        return error instanceof RuntimeException known ? known : new IllegalStateException(error);
    }
}

package corelane.ring;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.MemorySegment;
import java.lang.invoke.VarHandle;

/**
 * All memory, by address. An access costs no check of bounds or of a lifetime: so addresses must be those of
 * a ring's own counters, and the segment that they are in must be reachable during the access.
 */
final class Raw {
    static final VarHandle LONG = JAVA_LONG.varHandle();
    static final MemorySegment ALL = MemorySegment.NULL.reinterpret(Long.MAX_VALUE);

    private Raw() {}
}

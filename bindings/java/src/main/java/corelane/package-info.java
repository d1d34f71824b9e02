/**
 * Queues between threads, for objects on the heap and for items of fixed size in memory off the heap.
 *
 * <p>{@link corelane.BlockQueue} and {@link corelane.OverwritingQueue} hold objects.
 */
package corelane;

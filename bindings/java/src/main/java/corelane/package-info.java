/**
 * Queues between threads.
 *
 * <p>{@link corelane.BlockQueue} and {@link corelane.OverwritingQueue} hold objects.
 * {@link corelane.LineQueue}, {@link corelane.BlockItemQueue} and {@link corelane.OverwritingItemQueue} hold
 * items of fixed size in memory off the heap. A {@link corelane.Strategy} says how calls wait.
 */
package corelane;

/**
 * Queues in memory that processes share, whatever their languages: the bytes are those of
 * {@code docs/lane-bytes.md}.
 *
 * <p>A {@link Lane} is for items of one size, a {@link RecordLane} for byte records. Pushes and pops are
 * plain Java. The system is called only to make or open a lane, to take a side, and to sleep.
 *
 * <p>A process that is killed gives its side back. The next process that takes the side continues there.
 */
package corelane.shm;

package corelane.bench;

/** A queue, or a Disruptor, that moves numbers from producers to consumers. */
interface Candidate {
    /** What a producer calls for each item, or the items of a batch. */
    interface Sender {
        void send(long first, int n);
    }

    /** What a consumer's thread calls. It returns the sum of the items. */
    interface Receiver {
        long receive(long items);
    }

    Sender sender(int producer);

    Receiver receiver(int consumer);

    /** Items in a call of a consumer, on average; NaN if each call takes one. */
    default double averageBatch() {
        return Double.NaN;
    }
}

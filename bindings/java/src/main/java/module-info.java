/** Queues between threads, and lanes between processes, in pure Java. */
module corelane {
    exports corelane;
    exports corelane.shm;
}

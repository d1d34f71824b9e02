/** Lanes between processes, in pure Java. */
module corelane {
    exports corelane.shm;
}

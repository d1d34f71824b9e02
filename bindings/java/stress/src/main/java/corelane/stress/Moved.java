package corelane.stress;

import corelane.ObjectQueue;

/** Whether each pushed item comes out once: what was popped, and what an arbiter finds in the queue. */
final class Moved {
    private Moved() {}

    /** @param popped the numbers that the actors got; -1 for none */
    static boolean areAll(ObjectQueue<Box> queue, int first, int last, int... popped) {
        int[] seen = new int[last + 1];
        for (int number : popped) {
            if (number >= 0 && !see(seen, number)) {
                return false;
            }
        }
        for (Box box = queue.poll(); box != null; box = queue.poll()) {
            if (!see(seen, box.number)) {
                return false;
            }
        }
        for (int number = first; number <= last; number++) {
            if (seen[number] != 1) {
                return false;
            }
        }
        return true;
    }

    private static boolean see(int[] seen, int number) {
        return number < seen.length && ++seen[number] == 1;
    }
}

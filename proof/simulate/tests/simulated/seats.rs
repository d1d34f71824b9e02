//! Which cores the threads of a team get.

use corelane_simulate::seats;

#[test]
fn a_single_thread_is_first() {
    assert_eq!(seats(1, 1), [vec![0], vec![1]]);
    assert_eq!(seats(1, 4), [vec![0], vec![1, 2, 3, 4]]);
    assert_eq!(seats(3, 1), [vec![1, 2, 3], vec![0]]);
}

#[test]
fn sides_of_several_threads_take_turns() {
    assert_eq!(seats(2, 2), [vec![0, 2], vec![1, 3]]);
    assert_eq!(seats(4, 2), [vec![0, 2, 4, 5], vec![1, 3]]);
    assert_eq!(seats(2, 4), [vec![0, 2], vec![1, 3, 4, 5]]);
}

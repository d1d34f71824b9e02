//! Kernels of all queues, which the library checks itself, since they are not public.

use corelane_bench::{check_candidates, check_links};

#[test]
fn each_candidate_moves_all_items_in_each_way() {
    check_candidates::each_candidate_moves_all_items_in_each_way();
}

#[test]
fn boxes_arrive_or_are_freed() {
    check_links::boxes_arrive_or_are_freed();
}

#[test]
fn a_receiver_gets_all_before_the_end() {
    check_links::a_receiver_gets_all_before_the_end();
}

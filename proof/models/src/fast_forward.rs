//! `ffq`: temporal slipping (paper 2 §2.3). All else about it is common.

use corelane_loom::fast_forward::FfqSlip;

use crate::explore::{both, explore, pop_all, pop_until_closed, push_all, tiny};
use crate::item::Ticket;
use crate::subject::{Any, Subject};
use crate::{Model, Run};

type S = Any<FfqSlip>;

/// The consumer slips at its every 64th pop.
const UNTIL_SLIP: u64 = 64;

pub(crate) fn models() -> Vec<Model> {
    vec![Model::new::<S>("slip", slip)]
}

/// The consumer measures its distance, and waits, while the producer goes on.
fn slip() -> Run {
    explore(|| {
        let (mut tx, mut rx) = <S as Subject<Ticket>>::channel(tiny(2));
        for number in 0..UNTIL_SLIP - 1 {
            push_all(&mut tx, number..number + 1);
            pop_all(&mut rx, number..number + 1);
        }
        let numbers = UNTIL_SLIP - 1..UNTIL_SLIP + 2;
        let pushed = numbers.clone();
        both(move || push_all(&mut tx, pushed), || pop_until_closed(&mut rx, numbers));
    })
}

//! `ffq`: temporal slipping (paper 2 §2.3). Everything else of `ffq` is in the common models.

use corelane_loom::fast_forward::slipping::FfqSlipAny;

use crate::explore::{both, explore, pop_all, pop_until_closed, push_all, tiny};
use crate::item::Cargo;
use crate::queue::{Single, SingleSubject};
use crate::{Exploration, Model};

/// The consumer slips at every 64th pop.
const UNTIL_SLIP: u64 = 64;

pub(crate) fn models() -> Vec<Model> {
    let SingleSubject { of, tickets, .. } = SingleSubject::wide::<FfqSlipAny>();
    vec![of.model("slip", move || slip(tickets))]
}

/// The consumer measures its distance, and waits, while the producer continues.
fn slip<T: Cargo>(new: Single<T>) -> Exploration {
    explore(move || {
        let (mut tx, mut rx) = new(tiny(2));
        for number in 0..UNTIL_SLIP - 1 {
            push_all(&mut tx, number..number + 1);
            pop_all(&mut rx, number..number + 1);
        }
        let numbers = UNTIL_SLIP - 1..UNTIL_SLIP + 2;
        let pushed = numbers.clone();
        both(move || push_all(&mut tx, pushed), || pop_until_closed(&mut rx, numbers));
    })
}

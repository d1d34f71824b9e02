//! Leases without a queue: with fewer steps, so that more executions are tried than in the models
//! of queues.

use corelane_loom::lease::User;
use corelane_loom::leased::Leased;

use crate::explore::{both, explore};
use crate::item::{Number, Ticket};
use crate::queue::SharedSubject;
use crate::{Exploration, Model};

/// Of models that every queue has: a call changes the only word of its side up to three times.
pub(crate) const LEFT_OUT: &[&str] = &["full_of_two_producers", "producer_a_lap_behind"];

pub(crate) fn models() -> Vec<Model> {
    let SharedSubject::<Ticket, Number> { of, .. } = SharedSubject::new::<Leased>();
    vec![
        of.model("lease_taken_by_two", taken_by_two),
        of.model("lease_revoked_in_use", revoked_in_use),
        of.model("lease_revoked_in_quick_use", revoked_in_quick_use),
        of.model("lease_revoked_and_taken_by_another", revoked_and_taken_by_another),
        of.model("lease_given_up_and_revoked", given_up_and_revoked),
        of.model("lease_taken_back", taken_back),
        of.model("lease_taken_back_after_another_use", taken_back_after_another_use),
    ]
}

/// Two users of a number. loom checks that no two threads use the number at the same time.
fn two_users() -> (User<u64>, User<u64>) {
    let user = User::new(0).expect("there is memory");
    let other = user.duplicate();
    (user, other)
}

/// Adds one, unless another thread is at work. Returns what was added.
fn add(user: &mut User<u64>) -> u64 {
    u64::from(user.with(|number| (*number += 1, true)).is_some())
}

/// What all have added, when no thread is at work.
fn total(user: &mut User<u64>) -> u64 {
    user.with(|number| (*number, true)).expect("no thread is at work")
}

/// Two users want the lease at the same time, and no user has had it.
fn taken_by_two() -> Exploration {
    explore(|| {
        let (mut user, mut other) = two_users();
        let ((mut user, mut added), more) = both(
            move || {
                let added = add(&mut user);
                (user, added)
            },
            || add(&mut other),
        );
        added += more;
        assert!(added > 0 && total(&mut user) == added);
        drop(user);
        drop(other);
    })
}

/// The lease is revoked while its holder uses the value.
fn revoked_in_use() -> Exploration {
    explore(|| {
        let (mut user, mut other) = two_users();
        let mut added = add(&mut user);
        let ((mut user, one), more) = both(
            move || {
                let added = add(&mut user);
                (user, added)
            },
            || add(&mut other),
        );
        added += one + more;
        assert_eq!(total(&mut user), added);
        drop(user);
        drop(other);
    })
}

/// Adds one if that takes no look at other users.
fn add_quickly(user: &mut User<u64>) -> u64 {
    let added = user.with_quickly(|number| {
        *number += 1;
        true
    });
    if added == Some(true) {
        user.end_quick_use();
    }
    u64::from(added.is_some())
}

/// The lease is revoked while its holder uses the value quickly.
fn revoked_in_quick_use() -> Exploration {
    explore(|| {
        let (mut user, mut other) = two_users();
        let mut added = add(&mut user);
        let ((mut user, one), more) = both(
            move || {
                let added = add_quickly(&mut user) + add_quickly(&mut user);
                (user, added)
            },
            || add(&mut other),
        );
        added += one + more;
        assert_eq!(total(&mut user), added);
        drop((user, other));
    })
}

/// A user that revokes the lease is refused, since its holder is at work. Another user finds the
/// lease revoked.
fn revoked_and_taken_by_another() -> Exploration {
    explore(|| {
        let (mut user, mut other) = two_users();
        let mut third = other.duplicate();
        let mut added = add(&mut user);
        let ((mut user, one), more) = both(
            move || {
                let added = add(&mut user);
                (user, added)
            },
            || match add(&mut other) {
                0 => add(&mut third),
                n => n,
            },
        );
        added += one + more;
        assert_eq!(total(&mut user), added);
        for user in [user, other, third] {
            drop(user);
        }
    })
}

/// A user takes the lease that the holder gives up meanwhile. Another one revokes it in this use.
fn given_up_and_revoked() -> Exploration {
    explore(|| {
        let (mut user, mut other) = two_users();
        let mut third = other.duplicate();
        let mut added = add(&mut user);
        let ((mut other, one), (mut third, more)) = both(
            move || {
                let added = add(&mut other);
                (other, added)
            },
            || {
                drop(user);
                let added = add(&mut third);
                (third, added)
            },
        );
        added += one + more;
        assert_eq!(total(&mut third), added);
        assert_eq!(total(&mut other), added);
        drop(other);
        drop(third);
    })
}

/// The last user that is left takes the value back, and lends it again.
fn taken_back() -> Exploration {
    explore(|| {
        let (mut user, other) = two_users();
        let ((mut user, added), ()) = both(
            move || {
                let added = add(&mut user);
                (user, added)
            },
            || drop(other),
        );
        assert_eq!(total(&mut user), added);
        assert!(user.is_only(), "the last user has the value itself");
        let mut next = user.duplicate();
        drop(user);
        assert_eq!(total(&mut next), added);
        drop(next);
    })
}

/// The last user that is left takes the value back at the end of its use, after another one has
/// used it.
fn taken_back_after_another_use() -> Exploration {
    explore(|| {
        let (mut user, mut other) = two_users();
        let mut added = add(&mut user);
        let ((mut user, one), more) = both(
            move || {
                let added = add(&mut user);
                (user, added)
            },
            || {
                let added = match add(&mut other) {
                    0 => add(&mut other),
                    n => n,
                };
                drop(other);
                added
            },
        );
        added += one + more;
        assert_eq!(total(&mut user), added);
        drop(user);
    })
}

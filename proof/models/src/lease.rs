//! Leases without a queue: with fewer steps, so that more executions are tried than in the models
//! of queues.

use std::sync::Arc;

use corelane_loom::lease::{Lease, User};
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
        of.model("lease_revoked_and_taken_by_another", revoked_and_taken_by_another),
        of.model("lease_given_up_and_revoked", given_up_and_revoked),
        of.model("lease_taken_back", taken_back),
        of.model("lease_taken_back_after_another_use", taken_back_after_another_use),
    ]
}

/// A lease of a number, and its first two users. loom checks that no two threads use the number at
/// the same time.
fn two_users() -> (Arc<Lease<u64>>, User<u64>, User<u64>) {
    let lease = Arc::new(Lease::default());
    let user = User::new(0);
    let other = another(&user, &lease);
    (lease, user, other)
}

/// Adds one, unless another thread is at work. Returns what was added.
fn add(user: &mut User<u64>, lease: &Lease<u64>) -> u64 {
    // SAFETY: models use one lease, and no user after its end.
    u64::from(unsafe { user.with(lease, |number| (*number += 1, true)) }.is_some())
}

fn another(user: &User<u64>, lease: &Lease<u64>) -> User<u64> {
    // SAFETY: as in `add`.
    unsafe { user.duplicate(lease) }
}

fn end(mut user: User<u64>, lease: &Lease<u64>) {
    // SAFETY: as in `add`.
    unsafe { user.end(lease) };
}

/// What all have added, when no thread is at work.
fn total(user: &mut User<u64>, lease: &Lease<u64>) -> u64 {
    // SAFETY: as in `add`.
    unsafe { user.with(lease, |number| (*number, true)) }.expect("no thread is at work")
}

/// Two users want the lease at the same time, and no user has had it.
fn taken_by_two() -> Exploration {
    explore(|| {
        let (lease, mut user, mut other) = two_users();
        let shared = lease.clone();
        let ((mut user, mut added), more) = both(
            move || {
                let added = add(&mut user, &shared);
                (user, added)
            },
            || add(&mut other, &lease),
        );
        added += more;
        assert!(added > 0 && total(&mut user, &lease) == added);
        end(user, &lease);
        end(other, &lease);
    })
}

/// The lease is revoked while its holder uses the value.
fn revoked_in_use() -> Exploration {
    explore(|| {
        let (lease, mut user, mut other) = two_users();
        let mut added = add(&mut user, &lease);
        let shared = lease.clone();
        let ((mut user, one), more) = both(
            move || {
                let added = add(&mut user, &shared);
                (user, added)
            },
            || add(&mut other, &lease),
        );
        added += one + more;
        assert_eq!(total(&mut user, &lease), added);
        end(user, &lease);
        end(other, &lease);
    })
}

/// A user that revokes the lease is refused, since its holder is at work. Another user finds the
/// lease revoked.
fn revoked_and_taken_by_another() -> Exploration {
    explore(|| {
        let (lease, mut user, mut other) = two_users();
        let mut third = another(&other, &lease);
        let mut added = add(&mut user, &lease);
        let shared = lease.clone();
        let ((mut user, one), more) = both(
            move || {
                let added = add(&mut user, &shared);
                (user, added)
            },
            || match add(&mut other, &lease) {
                0 => add(&mut third, &lease),
                n => n,
            },
        );
        added += one + more;
        assert_eq!(total(&mut user, &lease), added);
        for user in [user, other, third] {
            end(user, &lease);
        }
    })
}

/// A user takes the lease that the holder gives up meanwhile. Another one revokes it in this use.
fn given_up_and_revoked() -> Exploration {
    explore(|| {
        let (lease, mut user, mut other) = two_users();
        let mut third = another(&other, &lease);
        let mut added = add(&mut user, &lease);
        let shared = lease.clone();
        let ((mut other, one), (mut third, more)) = both(
            move || {
                let added = add(&mut other, &shared);
                (other, added)
            },
            || {
                end(user, &lease);
                let added = add(&mut third, &lease);
                (third, added)
            },
        );
        added += one + more;
        assert_eq!(total(&mut third, &lease), added);
        assert_eq!(total(&mut other, &lease), added);
        end(other, &lease);
        end(third, &lease);
    })
}

/// The last user that is left takes the value back, and lends it again.
fn taken_back() -> Exploration {
    explore(|| {
        let (lease, mut user, other) = two_users();
        let shared = lease.clone();
        let ((mut user, added), ()) = both(
            move || {
                let added = add(&mut user, &shared);
                (user, added)
            },
            || end(other, &lease),
        );
        assert_eq!(total(&mut user, &lease), added);
        assert!(user.is_only(), "the last user has the value itself");
        let mut next = another(&user, &lease);
        end(user, &lease);
        assert_eq!(total(&mut next, &lease), added);
        end(next, &lease);
    })
}

/// The last user that is left takes the value back at the end of its use, after another one has
/// used it.
fn taken_back_after_another_use() -> Exploration {
    explore(|| {
        let (lease, mut user, mut other) = two_users();
        let mut added = add(&mut user, &lease);
        let shared = lease.clone();
        let ((mut user, one), more) = both(
            move || {
                let added = add(&mut user, &shared);
                (user, added)
            },
            || {
                let added = match add(&mut other, &lease) {
                    0 => add(&mut other, &lease),
                    n => n,
                };
                end(other, &lease);
                added
            },
        );
        added += one + more;
        assert_eq!(total(&mut user, &lease), added);
        end(user, &lease);
    })
}

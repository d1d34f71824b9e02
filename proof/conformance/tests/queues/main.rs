//! All checks on all queues: a module for each queue, and in it a test for each check.
//!
//! The tests of one queue are those with its id: `cargo test -p corelane-conformance --test queues
//! lq::`.

/// A test for each check, with the check's name, on a queue of this type.
macro_rules! checks {
    ($subject:ty, $queue:ty: $($module:ident::$check:ident,)*) => {$(
        #[test]
        fn $check() {
            $module::$check(&<$subject>::of::<$queue>());
        }
    )*};
}

/// Tests that let items of several types go through a queue, each with a capacity.
macro_rules! items {
    ($subject:ident, $queue:ty: $($check:ident: $($item:ty = $capacity:expr),+;)*) => {$(
        #[test]
        fn $check() {
            $(items::goes_through(&$subject::<$item>::of::<$queue>(), $capacity);)+
        }
    )*};
}

#[macro_use]
mod handles;
#[macro_use]
mod properties;
#[macro_use]
mod regressions;
#[macro_use]
mod shared;
#[macro_use]
mod single;

mod bytes;
mod mc_ring_cycle;
mod overwrite;
mod pooled;
mod snapshots;
mod waiting;

/// The tests of a queue in the registry. Queues that overwrite have tests of their own.
macro_rules! queue {
    (single any $name:ident: $queue:ty) => {
        mod $name {
            single_any! { $queue, crate::properties::CASES }
            in_one_thread! { u64, $queue }
        }
    };
    (single token $name:ident: $queue:ty) => {
        mod $name {
            single_token! { $queue }
        }
    };
    (shared any $name:ident: $queue:ty) => {
        mod $name {
            shared_any! { $queue }
        }
    };
    (shared token $name:ident: $queue:ty) => {
        mod $name {
            shared_token! { $queue }
        }
    };
    (relaxed any $name:ident: $queue:ty) => {
        mod $name {
            relaxed_any! { $queue }

            #[test]
            fn memory() {
                memory::backing_is_told(&Any::<u64>::of::<$queue>());
            }
        }
    };
    (shared plain $name:ident: $queue:ty) => {};
}

corelane::for_each_queue!(queue);

/// This queue has a thread of its own, for its timer.
mod mcring_sane {
    single_any! { corelane::mc_ring_sane::McRingSane, crate::properties::CASES_WITH_THREADS }
}

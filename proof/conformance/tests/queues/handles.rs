//! Which traits the handles of every queue have, checked by the compiler (row
//! `non_send_item_crosses`).

use std::rc::Rc;

use corelane::slot::Packed;

/// Whether a type implements a trait, as a constant.
///
/// If the bound holds, the inherent constant is found, otherwise the trait's.
macro_rules! implements {
    ($type:ty: $($bound:tt)+) => {{
        #[allow(dead_code)] // unused where the bound holds
        trait Otherwise {
            const ANSWER: bool = false;
        }
        impl<T: ?Sized> Otherwise for T {}
        struct Asked<T: ?Sized>(std::marker::PhantomData<T>);
        #[allow(dead_code)] // unused where the bound does not hold
        impl<T: ?Sized + $($bound)+> Asked<T> {
            const ANSWER: bool = true;
        }
        Asked::<$type>::ANSWER
    }};
}

#[test]
fn the_question_can_be_answered_both_ways() {
    assert!(implements!(u64: Clone) && implements!(u64: Send + Sync));
    assert!(!implements!(Rc<u64>: Send) && !implements!(std::cell::Cell<u64>: Sync));
}

/// Handles move between threads, but can be neither cloned nor shared.
macro_rules! one_of_each {
    ($($handle:ty,)*) => {$(
        assert!(implements!($handle: Send + std::fmt::Debug));
        assert!(!implements!($handle: Clone), "two handles of one side");
        assert!(!implements!($handle: Sync), "two threads with one handle");
    )*};
}

macro_rules! handles_of_single {
    ($queue:ty) => {
        use std::cell::Cell;

        type Tx<T> = <$queue as corelane::Queue<T>>::Producer;
        type Rx<T> = <$queue as corelane::Queue<T>>::Consumer;

        #[test]
        fn one_of_each() {
            one_of_each! { Tx<u64>, Rx<u64>, Tx<Box<String>>, Rx<Box<String>>, }
        }

        /// An item that is `Send` but not `Sync` may move to another thread.
        #[test]
        fn items_need_not_be_sync() {
            one_of_each! { Tx<Cell<u64>>, Rx<Cell<u64>>, }
        }
    };
}

macro_rules! handles_of_tokens {
    ($queue:ty) => {
        #[test]
        fn one_of_each() {
            one_of_each! {
                <$queue as corelane::Queue<Box<u64>>>::Producer,
                <$queue as corelane::Queue<Box<u64>>>::Consumer,
            }
        }
    };
}

/// Handles move between threads. Only handles of a side that may have several can be cloned. No
/// handle can be shared.
macro_rules! handles_of_shared {
    ($queue:ty) => {
        use std::cell::Cell;

        use corelane::{Config, Consumer, Producer, Queue};

        type Tx<T> = <$queue as Queue<T>>::Producer;
        type Rx<T> = <$queue as Queue<T>>::Consumer;

        #[test]
        fn as_many_as_there_may_be() {
            let sides = <$queue as Queue<u64>>::INFO.sides;
            let (producers, consumers) = (sides.allow(2, 1), sides.allow(1, 2));
            let (tx, rx) = <$queue as Queue<u64>>::with(Config::new(8)).unwrap();
            assert_eq!(tx.try_clone().is_some(), producers);
            assert_eq!(rx.try_clone().is_some(), consumers);
            assert_eq!(implements!(Tx<u64>: Clone), producers);
            assert_eq!(implements!(Rx<u64>: Clone), consumers);
            assert_eq!(implements!(Tx<u64>: corelane::SingleProducer), !producers);
            assert_eq!(implements!(Rx<u64>: corelane::SingleConsumer), !consumers);
        }

        /// An item that is `Send` but not `Sync` may move to another thread.
        #[test]
        fn items_need_not_be_sync() {
            type Item = Cell<u64>;
            assert!(implements!(Tx<Item>: Send + std::fmt::Debug) && !implements!(Tx<Item>: Sync));
            assert!(implements!(Rx<Item>: Send + std::fmt::Debug) && !implements!(Rx<Item>: Sync));
        }
    };
}

/// Whether a handle may move to another thread if and only if its item may.
macro_rules! crosses_with_its_item {
    ($handle:ident) => {
        implements!($handle<u64>: Send) && !implements!($handle<Rc<u64>>: Send)
    };
}

/// A handle that may always move to another thread, and one that never may.
#[test]
fn non_send_item_crosses_with_a_broken_handle() {
    struct Sound<T>(std::marker::PhantomData<*mut T>);
    // SAFETY: the type has no item.
    unsafe impl<T: Send> Send for Sound<T> {}
    struct TooWide<T>(std::marker::PhantomData<*mut T>);
    // SAFETY: the type has no item. With an item, this would be the bug.
    unsafe impl<T> Send for TooWide<T> {}
    struct TooNarrow<T>(std::marker::PhantomData<*mut T>);

    assert!(crosses_with_its_item!(Sound));
    assert!(!crosses_with_its_item!(TooWide) && !crosses_with_its_item!(TooNarrow));
}

/// Queues can be made for any item, even one that must stay in its thread: then the handles must
/// stay too.
///
/// The other queues refuse such an item when the queue is made; see `compile_fail`.
#[test]
fn non_send_item_crosses() {
    use corelane::lamport::{self, batched, lazy};
    use corelane::{block, line_ring, locked, mc_ring, mc_ring_sane, ring, scq};

    macro_rules! stays {
        ($($module:path;)*) => {$({
            use $module::{Consumer as Rx, Producer as Tx};
            assert!(crosses_with_its_item!(Tx) && crosses_with_its_item!(Rx), stringify!($module));
        })*};
    }
    stays! { batched; lamport; lazy; line_ring; mc_ring; mc_ring_sane; }
    stays! { block::single; block::one_consumer; block::one_producer; block::shared; block::fetch_add; ring; scq; locked; }
    use corelane::block::bytes::{ItemConsumer, ItemProducer};
    assert!(crosses_with_its_item!(ItemProducer) && crosses_with_its_item!(ItemConsumer));
}

/// Handles of byte records move between threads and can be cloned. Claims and records move between
/// threads, too: they borrow their handle exclusively.
#[test]
fn byte_records() {
    use corelane::bytes::{Claim, Consumer, Producer, Record};

    assert!(implements!(Producer: Send + Clone + std::fmt::Debug) && !implements!(Producer: Sync));
    assert!(implements!(Consumer: Send + Clone + std::fmt::Debug) && !implements!(Consumer: Sync));
    assert!(implements!(Claim<'static>: Send) && !implements!(Claim<'static>: Sync));
    assert!(implements!(Record<'static>: Send) && !implements!(Record<'static>: Sync));
}

/// A token may move to another thread.
#[test]
fn tokens_are_send() {
    use corelane::slot::{Slot, Token};

    assert!(implements!(Box<u64>: Token) && implements!(std::sync::Arc<u64>: Token));
    assert!(implements!(&'static mut u64: Token) && implements!(&'static u64: Token));
    assert!(!implements!(Box<Rc<u64>>: Token));
    assert!(!implements!(Rc<u64>: Token));
    assert!(!implements!(std::sync::Arc<std::cell::Cell<u64>>: Token), "shared, but not Sync");
    assert!(!implements!(&'static std::cell::Cell<u64>: Token), "shared, but not Sync");
    assert!(!implements!(&'static mut Rc<u64>: Token));
    assert!(implements!(Packed<Box<u64>>: Slot) && !implements!(Packed<Box<Rc<u64>>>: Slot));
}

//! Calls that are all made, although some of them panic.

use core::iter::from_fn;

/// Drops each item that `next` gives, as [`call_each`].
pub(crate) fn drop_each<T>(next: impl FnMut() -> Option<T>) {
    call_each(from_fn(next), drop);
}

#[cfg(feature = "std")]
pub(crate) use caught::{PanicPayload, call_each, catch_each, go_on, quietly};

#[cfg(feature = "std")]
mod caught {
    use alloc::boxed::Box;
    use core::any::Any;
    use core::iter;
    use core::mem::forget;
    use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

    /// The payload of a call's panic.
    pub(crate) type PanicPayload = Box<dyn Any + Send>;

    /// Makes a call with each item. If calls panic, the first panic goes on after the last call,
    /// unless the thread unwinds already.
    pub(crate) fn call_each<T>(items: impl IntoIterator<Item = T>, call: impl FnMut(T)) {
        go_on(catch_each(items, call));
    }

    /// Makes a call with each item. Returns the first panic. The payloads of others leak: their
    /// destructors may panic, too.
    #[must_use]
    pub(crate) fn catch_each<T>(
        items: impl IntoIterator<Item = T>,
        mut call: impl FnMut(T),
    ) -> Option<PanicPayload> {
        let mut first = None;
        for item in items {
            if let Err(panic) = catch_unwind(AssertUnwindSafe(|| call(item))) {
                match first {
                    None => first = Some(panic),
                    Some(_) => forget(panic),
                }
            }
        }
        first
    }

    /// Lets a panic that was caught go on, unless the thread unwinds already.
    pub(crate) fn go_on(panic: Option<PanicPayload>) {
        match panic {
            Some(panic) if std::thread::panicking() => forget(panic),
            Some(panic) => resume_unwind(panic),
            None => {}
        }
    }

    /// Makes a call, and catches its panic.
    pub(crate) fn quietly(call: impl FnOnce()) {
        forget(catch_each(iter::once(call), |call| call()));
    }
}

/// Makes a call with each item. If a call panics, the others are made while unwinding: a second
/// panic ends the process.
#[cfg(not(feature = "std"))]
pub(crate) fn call_each<T>(items: impl IntoIterator<Item = T>, call: impl FnMut(T)) {
    struct Rest<T, I: Iterator<Item = T>, F: FnMut(T)>(I, F);
    impl<T, I: Iterator<Item = T>, F: FnMut(T)> Drop for Rest<T, I, F> {
        fn drop(&mut self) {
            self.0.by_ref().for_each(&mut self.1);
        }
    }
    let mut rest = Rest(items.into_iter(), call);
    while let Some(item) = rest.0.next() {
        (rest.1)(item);
    }
}

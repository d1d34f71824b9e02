//! When values are made and freed, where nothing checks it: on the machine, and simulated.

use alloc::boxed::Box;
use core::marker::PhantomData;

/// When a value was made. Only models use it.
#[derive(Debug)]
pub(crate) struct Made;

impl Made {
    /// Now.
    #[inline]
    pub(crate) const fn now() -> Self {
        Self
    }

    /// Not checked here.
    #[inline]
    pub(crate) const fn is_before_now(&self) {}

    /// The value is about to be freed.
    #[inline]
    pub(crate) const fn ends(&self) {}
}

/// How far a slot has been read. Only models use it.
#[derive(Debug)]
pub(crate) struct Read;

impl Read {
    /// Not at all.
    pub(crate) const fn new() -> Self {
        Self
    }

    /// Before `position`.
    #[inline]
    pub(crate) const fn note(&self, _position: u64) {}

    /// Not checked here.
    #[inline]
    pub(crate) const fn is_over(&self, _position: u64) {}
}

/// Where boxes are freed. Models keep them, so that no address is used twice.
#[derive(Debug)]
pub(crate) struct Freed<T>(PhantomData<*mut T>);

impl<T> Freed<T> {
    /// No boxes yet.
    pub(crate) const fn new() -> Self {
        Self(PhantomData)
    }

    /// Frees `value`.
    ///
    /// # Safety
    ///
    /// `value` comes from a box, and is not used any more.
    pub(crate) unsafe fn add(&self, value: *mut T) {
        // SAFETY: the caller's contract.
        drop(unsafe { Box::from_raw(value) });
    }
}

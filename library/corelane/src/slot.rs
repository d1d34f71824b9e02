//! Slots with their own state, full or empty, for the FastForward family and B-Queue, and
//! [`Token`]: items of one word.

use alloc::alloc::Layout;
use alloc::boxed::Box;
use core::alloc::LayoutError;
use core::mem::MaybeUninit;
#[cfg(target_pointer_width = "64")]
use core::num::NonZeroU64;
use core::num::NonZeroUsize;
use core::ptr::{self, NonNull};

use crate::memory::{AtomicBool, AtomicPtr, Ordering, UnsafeCell};
use crate::region::{Slots, array};

/// The constructors of a queue with either kind of slots, which `with_slots` of its module makes.
/// `$path` is the module, `$name` its last part.
macro_rules! constructors {
    ($path:literal, $name:literal) => {
        /// A queue for at least `capacity` items of any type.
        ///
        /// ```
        #[doc = concat!("use corelane::", $path, ";")]
        ///
        #[doc = concat!("let (mut tx, mut rx) = ", $name, "::queue(100)?;")]
        /// tx.try_push("hello")?;
        /// assert_eq!(rx.try_pop(), Ok("hello"));
        /// # Ok::<(), Box<dyn std::error::Error>>(())
        /// ```
        ///
        /// # Errors
        ///
        /// If `capacity` is 0 or too large for memory.
        pub fn queue<T: Send>(
            capacity: usize,
        ) -> Built<Producer<Flagged<T>>, Consumer<Flagged<T>>> {
            queue_with(Config::new(capacity))
        }

        /// As [`queue`], with all options.
        ///
        /// # Errors
        ///
        /// As [`queue`].
        pub fn queue_with<T: Send>(
            config: Config,
        ) -> Built<Producer<Flagged<T>>, Consumer<Flagged<T>>> {
            with_slots(config)
        }

        /// A queue for at least `capacity` [tokens](crate::slot::Token), in slots of one word.
        ///
        /// ```
        #[doc = concat!("use corelane::", $path, ";")]
        ///
        #[doc = concat!("let (mut tx, mut rx) = ", $name, "::token_queue(100)?;")]
        /// tx.try_push(Box::new(1))?;
        /// assert_eq!(*rx.try_pop()?, 1);
        /// # Ok::<(), Box<dyn std::error::Error>>(())
        /// ```
        ///
        /// # Errors
        ///
        /// As [`queue`].
        pub fn token_queue<T: Token>(
            capacity: usize,
        ) -> Built<Producer<Packed<T>>, Consumer<Packed<T>>> {
            token_queue_with(Config::new(capacity))
        }

        /// As [`token_queue`], with all options.
        ///
        /// # Errors
        ///
        /// As [`queue`].
        pub fn token_queue_with<T: Token>(
            config: Config,
        ) -> Built<Producer<Packed<T>>, Consumer<Packed<T>>> {
            with_slots(config)
        }
    };
}

pub(crate) use constructors;

/// A slot that is either empty or holds an item, and shows this state to both sides.
///
/// Only the producer fills slots, and only the consumer clears them. A full slot is published
/// together with all slots filled before it. An empty slot is published together with all slots
/// cleared before it.
///
/// Both sides access a slot at the same time. So only this crate may implement the trait:
///
/// ```compile_fail
/// struct Mine(std::cell::Cell<Option<u64>>);
///
/// impl corelane::slot::Slot for Mine {
///     type Item = u64;
///     fn empty() -> Self { Mine(None.into()) }
///     fn is_full(&self) -> bool { self.0.get().is_some() }
///     unsafe fn fill(&self, item: u64) { self.0.set(Some(item)) }
///     unsafe fn read(&self) -> u64 { self.0.get().unwrap() }
///     fn clear(&self) { self.0.set(None) }
///     fn block(&self) {}
/// }
/// ```
pub trait Slot: sealed::Sealed + Send {
    /// The type of the item.
    type Item;

    #[doc(hidden)]
    /// An empty slot.
    fn empty() -> Self;

    #[doc(hidden)]
    /// Whether the slot holds an item (or is [blocked](Self::block)).
    fn is_full(&self) -> bool;

    #[doc(hidden)]
    /// Puts an item into the slot.
    ///
    /// # Safety
    ///
    /// The caller is the producer, and has seen this slot, or one after it, empty in this lap.
    unsafe fn fill(&self, item: Self::Item);

    #[doc(hidden)]
    /// Copies the item out; the slot stays full until it is cleared.
    ///
    /// # Safety
    ///
    /// The caller is the consumer, has seen this slot, or one after it, full in this lap, and reads
    /// it only once.
    unsafe fn read(&self) -> Self::Item;

    #[doc(hidden)]
    /// Copies the item out if there is one; the slot stays full until it is cleared.
    ///
    /// # Safety
    ///
    /// The caller is the consumer and reads each item only once.
    #[inline]
    unsafe fn try_read(&self) -> Option<Self::Item> {
        // SAFETY: the slot has just been seen full. The rest is the caller's contract.
        self.is_full().then(|| unsafe { self.read() })
    }

    #[doc(hidden)]
    /// Gives the slot back to the producer.
    fn clear(&self);

    #[doc(hidden)]
    /// Makes an empty slot look full without an item, until it is cleared.
    fn block(&self);
}

mod sealed {
    pub trait Sealed {}
    impl<T> Sealed for super::Flagged<T> {}
    impl<T> Sealed for super::Packed<T> {}
}

/// A slot for any item: a flag beside the value.
#[derive(Debug)]
pub struct Flagged<T> {
    full: AtomicBool,
    item: UnsafeCell<MaybeUninit<T>>,
}

// SAFETY: a slot moves its item from one thread to another, which `T: Send` allows.
unsafe impl<T: Send> Send for Flagged<T> {}

impl<T: Send> Slot for Flagged<T> {
    type Item = T;

    fn empty() -> Self {
        Self { full: AtomicBool::new(false), item: UnsafeCell::new(MaybeUninit::uninit()) }
    }

    #[inline]
    fn is_full(&self) -> bool {
        // Acquire ↔ Release in `fill`: the item, for the consumer. Acquire ↔ Release in `clear`:
        // the item is taken, for the producer.
        self.full.load(Ordering::Acquire)
    }

    #[inline]
    unsafe fn fill(&self, item: T) {
        // SAFETY: the slot is empty and only the producer writes to empty slots.
        self.item.with_mut(|slot| unsafe { (*slot).write(item) });
        // Release ↔ Acquire in `is_full`: the item.
        self.full.store(true, Ordering::Release);
    }

    #[inline]
    unsafe fn read(&self) -> T {
        // SAFETY: the slot is full, so the producer doesn't access it, and it is read only once.
        self.item.with(|slot| unsafe { (*slot).assume_init_read() })
    }

    #[inline]
    fn clear(&self) {
        // Release ↔ Acquire in `is_full`: the item is taken.
        self.full.store(false, Ordering::Release);
    }

    fn block(&self) {
        // Relaxed: the queue isn't shared yet.
        self.full.store(true, Ordering::Relaxed);
    }
}

/// A slot of one word for [tokens](Token): null is empty, any other word is the item.
#[derive(Debug)]
pub struct Packed<T> {
    word: AtomicPtr<()>,
    item: core::marker::PhantomData<T>,
}

// SAFETY: a slot moves its token from one thread to another, and tokens are `Send`.
unsafe impl<T: Token> Send for Packed<T> {}

impl<T: Token> Slot for Packed<T> {
    type Item = T;

    fn empty() -> Self {
        Self { word: AtomicPtr::new(ptr::null_mut()), item: core::marker::PhantomData }
    }

    #[inline]
    fn is_full(&self) -> bool {
        // Acquire ↔ Release in `fill`: the item, for the consumer. Acquire ↔ Release in `clear`:
        // the item is taken, for the producer.
        !self.word.load(Ordering::Acquire).is_null()
    }

    #[inline]
    unsafe fn fill(&self, item: T) {
        // Release ↔ Acquire in `is_full` and `try_read`: what the token owns.
        self.word.store(item.into_word().as_ptr(), Ordering::Release);
    }

    #[inline]
    unsafe fn read(&self) -> T {
        // Relaxed: the caller has seen this word, or a later one, through an acquire load.
        let word = self.word.load(Ordering::Relaxed);
        // SAFETY: the slot is full, so the word came from `into_word`, and it is read only once.
        unsafe { T::from_word(NonNull::new_unchecked(word)) }
    }

    #[inline]
    unsafe fn try_read(&self) -> Option<T> {
        // Acquire ↔ Release in `fill`: what the token owns.
        let word = NonNull::new(self.word.load(Ordering::Acquire))?;
        // SAFETY: a word that is not null came from `into_word`, and it is read only once.
        Some(unsafe { T::from_word(word) })
    }

    #[inline]
    fn clear(&self) {
        // Release ↔ Acquire in `is_full`: earlier slots are cleared too. The producer may check
        // only this slot before it fills them.
        self.word.store(ptr::null_mut(), Ordering::Release);
    }

    fn block(&self) {
        // Relaxed: the queue isn't shared yet.
        self.word.store(ptr::dangling_mut(), Ordering::Relaxed);
    }
}

/// An item that is one non-zero word, so that its slot needs no flag.
///
/// # Safety
///
/// `from_word(into_word(x))` gives `x` back, once, on any thread, and neither function panics.
pub unsafe trait Token: Send + Sized {
    /// The token as a word, which owns what the token owned.
    fn into_word(self) -> NonNull<()>;

    /// The token that a word stands for.
    ///
    /// # Safety
    ///
    /// `word` came from [`into_word`](Self::into_word), and is converted back only once.
    unsafe fn from_word(word: NonNull<()>) -> Self;
}

/// Tokens that are owning pointers.
macro_rules! pointer_token {
    ($($(#[$attr:meta])* [$($bounds:tt)*] $type:ty, $into:expr, $from:expr;)*) => {$(
        // SAFETY: the pointer is never null, has the ownership, and is converted back once.
        $(#[$attr])* unsafe impl<$($bounds)*> Token for $type {
            #[inline]
            fn into_word(self) -> NonNull<()> {
                // SAFETY: pointers to objects are not null.
                unsafe { NonNull::new_unchecked($into(self).cast_mut().cast()) }
            }

            #[inline]
            unsafe fn from_word(word: NonNull<()>) -> Self {
                // SAFETY: by the caller's contract the pointer came from `into_word`, and is
                // converted back once.
                unsafe { $from(word.as_ptr().cast()) }
            }
        }
    )*};
}

pointer_token! {
    [T: Send] Box<T>, |token: Self| Box::into_raw(token).cast_const(), Box::from_raw;
    [T: Send + Sync] alloc::sync::Arc<T>, alloc::sync::Arc::into_raw,
        |word: *mut T| alloc::sync::Arc::from_raw(word);
    ['a, T: Sync] &'a T, ptr::from_ref, |word: *mut T| &*word;
    ['a, T: Send] &'a mut T, |token: Self| ptr::from_mut(token).cast_const(), |word: *mut T| &mut *word;
}

// SAFETY: a non-zero number of a pointer's width is unchanged as an address.
unsafe impl Token for NonZeroUsize {
    #[inline]
    fn into_word(self) -> NonNull<()> {
        NonNull::dangling().with_addr(self)
    }

    #[inline]
    unsafe fn from_word(word: NonNull<()>) -> Self {
        word.addr()
    }
}

// SAFETY: as for `NonZeroUsize`, which has the same values on these machines.
#[cfg(target_pointer_width = "64")]
unsafe impl Token for NonZeroU64 {
    #[inline]
    fn into_word(self) -> NonNull<()> {
        // The width makes both conversions exact.
        let number = NonZeroUsize::try_from(self);
        // SAFETY: `usize` has 64 bits here.
        NonNull::dangling().with_addr(unsafe { number.unwrap_unchecked() })
    }

    #[inline]
    unsafe fn from_word(word: NonNull<()>) -> Self {
        // SAFETY: addresses of a `NonNull` are not zero.
        unsafe { Self::new_unchecked(word.addr().get() as u64) }
    }
}

/// A ring of slots with their own state, addressed by positions that only grow.
#[derive(Debug)]
pub(crate) struct SlotRing<S> {
    base: NonNull<S>,
    mask: usize,
}

impl<S> Clone for SlotRing<S> {
    fn clone(&self) -> Self {
        Self { base: self.base, mask: self.mask }
    }
}

impl<S> SlotRing<S> {
    /// Number of slots.
    #[inline]
    pub fn len(&self) -> usize {
        self.mask + 1
    }

    /// The slot at `position`.
    #[inline]
    pub fn at(&self, position: u64) -> &S {
        // SAFETY: the mask keeps the index among the slots, which live as long as the array.
        unsafe { self.base.add(position as usize & self.mask).as_ref() }
    }
}

impl<S: Slot> Slots for SlotRing<S> {
    const SLOT: Layout = Layout::new::<S>();
    type Shape = usize;

    fn slots(len: usize) -> Result<Layout, LayoutError> {
        array(Self::SLOT, len)
    }

    unsafe fn init(_: NonNull<u8>, base: NonNull<u8>, len: usize) -> Self {
        let base = base.cast::<S>();
        for i in 0..len {
            // SAFETY: by the caller's contract there is room for `len` slots.
            unsafe { base.add(i).write(S::empty()) };
        }
        Self { base, mask: len - 1 }
    }

    unsafe fn finish(&self) {
        for i in 0..self.len() {
            // SAFETY: each slot was written by `init`, and is not used any more.
            unsafe { self.base.add(i).drop_in_place() };
        }
    }
}

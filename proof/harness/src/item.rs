//! Items that know which number they were made from.

use std::cell::Cell;
use std::num::{NonZeroU64, NonZeroUsize};
use std::sync::Arc;

/// An item that knows which number it was made from.
pub trait Item: Send + 'static {
    /// The item for number `n`.
    fn of(n: u64) -> Self;
    /// Whether this is the item for number `n`, as far as the type can tell.
    fn is(&self, n: u64) -> bool;
}

impl Item for u64 {
    fn of(n: u64) -> Self {
        n
    }

    fn is(&self, n: u64) -> bool {
        *self == n
    }
}

impl Item for NonZeroU64 {
    fn of(n: u64) -> Self {
        Self::MIN.saturating_add(n)
    }

    fn is(&self, n: u64) -> bool {
        *self == Self::of(n)
    }
}

impl Item for u8 {
    fn of(n: u64) -> Self {
        n as Self
    }

    fn is(&self, n: u64) -> bool {
        *self == n as Self
    }
}

impl Item for [u8; 3] {
    fn of(n: u64) -> Self {
        [n as u8, (n >> 8) as u8, 7]
    }

    fn is(&self, n: u64) -> bool {
        *self == Self::of(n)
    }
}

/// An item that may own memory.
#[derive(Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the types that they hold")]
pub enum Owning {
    String(String),
    Vec(Vec<u64>),
    Box(Box<u64>),
    Arc(Arc<u64>),
}

impl Item for Owning {
    fn of(n: u64) -> Self {
        match n % 4 {
            0 => Self::String(format!("item {n}")),
            1 => Self::Vec(vec![n; (n % 5) as usize]),
            2 => Self::Box(Box::new(n)),
            _ => Self::Arc(Arc::new(n)),
        }
    }

    fn is(&self, n: u64) -> bool {
        *self == Self::of(n)
    }
}

/// 4 KiB of the same number.
#[derive(Debug, Clone, Copy)]
pub struct Large([u64; 512]);

impl Large {
    /// The first number.
    pub fn first(&self) -> u64 {
        self.0[0]
    }
}

impl Item for Large {
    fn of(n: u64) -> Self {
        Self([n; 512])
    }

    fn is(&self, n: u64) -> bool {
        self.0 == [n; 512]
    }
}

/// An item larger than a cache line, at multiples of more than one.
#[derive(Debug, Clone, Copy)]
#[repr(align(256))]
pub struct Aligned([u64; 40]);

impl Item for Aligned {
    fn of(n: u64) -> Self {
        Self([n; 40])
    }

    fn is(&self, n: u64) -> bool {
        let address = std::ptr::from_ref(self).addr();
        assert!(address.is_multiple_of(256), "an item at {address:#x}");
        self.0 == [n; 40]
    }
}

/// An item at multiples of more than a page.
#[derive(Debug)]
#[repr(align(8192))]
pub struct AlignedBeyondPages(u64);

impl Item for AlignedBeyondPages {
    fn of(n: u64) -> Self {
        Self(n)
    }

    fn is(&self, n: u64) -> bool {
        let address = std::ptr::from_ref(self).addr();
        assert!(address.is_multiple_of(8192), "an item at {address:#x}");
        self.0 == n
    }
}

macro_rules! pointer_items {
    ($($type:ty, $of:expr;)*) => {$(
        impl Item for $type {
            fn of(n: u64) -> Self {
                $of(n)
            }

            fn is(&self, n: u64) -> bool {
                **self == n
            }
        }
    )*};
}

pointer_items! {
    Box<u64>, Box::new;
    Arc<u64>, Arc::new;
}

/// Numbers that references can point to, for as long as the tests run.
static NUMBERS: [u64; 1000] = {
    let mut numbers = [0; 1000];
    let mut n = 0;
    while n < numbers.len() {
        numbers[n] = n as u64;
        n += 1;
    }
    numbers
};

impl Item for &'static u64 {
    fn of(n: u64) -> Self {
        &NUMBERS[(n % 1000) as usize]
    }

    fn is(&self, n: u64) -> bool {
        std::ptr::eq(*self, Self::of(n))
    }
}

impl Item for &'static mut u64 {
    fn of(n: u64) -> Self {
        Box::leak(Box::new(n))
    }

    fn is(&self, n: u64) -> bool {
        **self == n
    }
}

impl Item for NonZeroUsize {
    fn of(n: u64) -> Self {
        Self::MIN.saturating_add(n as usize)
    }

    fn is(&self, n: u64) -> bool {
        *self == Self::of(n)
    }
}

thread_local! {
    /// Zero-sized items made and not yet dropped.
    static ALIVE: Cell<isize> = const { Cell::new(0) };
}

/// A zero-sized item whose destructor counts.
#[derive(Debug)]
pub struct Nothing;

impl Nothing {
    /// How many items this thread has made and not yet dropped.
    pub fn alive() -> isize {
        ALIVE.get()
    }
}

impl Item for Nothing {
    fn of(_: u64) -> Self {
        ALIVE.set(ALIVE.get() + 1);
        Self
    }

    fn is(&self, _: u64) -> bool {
        true
    }
}

impl Drop for Nothing {
    fn drop(&mut self) {
        ALIVE.set(ALIVE.get() - 1);
    }
}

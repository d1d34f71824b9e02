//! Zero-sized, tiny, large, over-aligned and non-`Copy` items.

use std::cell::Cell;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::thread;

use corelane::{
    Built, Config, Memory, Producer, SingleConsumer, SingleProducer, SpscQueue, SpscTokenQueue,
};

use crate::{Any, Item, Queue, Tokens, with_items};

impl Item for () {
    fn of(_: u64) -> Self {}

    fn is(&self, _: u64) -> bool {
        true
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

impl Item for String {
    fn of(n: u64) -> Self {
        format!("item {n}")
    }

    fn is(&self, n: u64) -> bool {
        *self == Self::of(n)
    }
}

impl Item for Vec<u64> {
    fn of(n: u64) -> Self {
        vec![n; (n % 5) as usize]
    }

    fn is(&self, n: u64) -> bool {
        *self == Self::of(n)
    }
}

/// 4 KiB of the same number.
#[derive(Clone, Copy)]
pub(crate) struct Large([u64; 512]);

impl Large {
    /// What it begins with.
    pub(crate) fn first(&self) -> u64 {
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

/// Items that must lie at multiples of more than a cache line, or of more than a page.
macro_rules! aligned {
    ($($(#[$attr:meta])* $name:ident, $align:literal;)*) => {$(
        $(#[$attr])*
        #[repr(align($align))]
        pub(crate) struct $name(u64);

        impl Item for $name {
            fn of(n: u64) -> Self {
                Self(n)
            }

            fn is(&self, n: u64) -> bool {
                let address = std::ptr::from_ref(self).addr();
                assert!(address.is_multiple_of($align), "an item at {address:#x}");
                self.0 == n
            }
        }
    )*};
}

aligned! {
    Aligned, 256;
    AlignedBeyondPages, 8192;
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

/// All ways in and out, over several laps, for items of type `T`.
fn goes_through<Q, T: Item>(capacity: usize)
where
    Q: Queue<T, Tx: SingleProducer, Rx: SingleConsumer>,
{
    for memory in [Memory::Heap, Memory::HugePages, Memory::Mirrored] {
        let mut queue = with_items::<Q, T>(Config::new(capacity).memory(memory));
        for n in [1, 2, 7, capacity / 2, capacity, capacity + 1, 70] {
            queue.push();
            queue.write_chunk(n, n);
            queue.read_chunk(n, n / 2);
            queue.push_iter(n, true);
            queue.read_chunk(n, 0);
            queue.pop();
            queue.take_chunk(n, n / 2);
            queue.push_iter(n, false);
            queue.pop_iter(n);
            queue.fill();
            queue.observe();
            queue.drain();
        }
        // Some are left in the queue.
        queue.push_iter(3, true);
        queue.read_chunk(2, 0);
    }
}

/// Items of one byte, and of three.
pub fn tiny<Q: SpscQueue>() {
    goes_through::<Any<Q>, u8>(100);
    goes_through::<Any<Q>, [u8; 3]>(100);
    goes_through::<Any<Q>, u8>(4096);
}

/// Items of 4 KiB.
pub fn large<Q: SpscQueue>() {
    goes_through::<Any<Q>, Large>(10);
}

/// Items that own memory.
pub fn owning<Q: SpscQueue>() {
    goes_through::<Any<Q>, String>(50);
    goes_through::<Any<Q>, Vec<u64>>(50);
    goes_through::<Any<Q>, Box<u64>>(50);
    goes_through::<Any<Q>, Arc<u64>>(50);
}

/// Items that must lie at multiples of 256 and of 8192 bytes, in every kind of memory.
pub fn over_aligned<Q: SpscQueue>() {
    goes_through::<Any<Q>, Aligned>(20);
    goes_through::<Any<Q>, AlignedBeyondPages>(4);
}

/// Tokens of every kind.
pub fn tokens<Q: SpscTokenQueue>() {
    goes_through::<Tokens<Q>, Box<u64>>(50);
    goes_through::<Tokens<Q>, Arc<u64>>(50);
    goes_through::<Tokens<Q>, &'static u64>(50);
    goes_through::<Tokens<Q>, &'static mut u64>(20);
    goes_through::<Tokens<Q>, NonZeroUsize>(50);
}

/// An item of which hardly any fits into the addresses there are.
type Huge = [u8; 1 << 46];

/// Items of which hardly any fits into the addresses there are: refused, not miscounted (row
/// `capacity_overflow`).
pub fn huge<Q: SpscQueue>() {
    refuses_huge(|config| Q::channel(config));
}

/// Checks that `channel` makes no queue of huge items.
pub(crate) fn refuses_huge<P, C>(channel: impl Fn(Config) -> Built<P, C>)
where
    P: Producer<Item = Huge>,
{
    for capacity in [1, 2, 100, 1 << 14, 1 << 18, 1 << 20, usize::MAX / 2, usize::MAX] {
        for batch in [1, 64, 1 << 16, usize::MAX] {
            let config = Config::new(capacity).batch(batch);
            if let Ok(made) = channel(config) {
                // No stack is large enough for what its destructor may do.
                std::mem::forget(made);
                panic!("a queue for {capacity} items of 2^46 bytes was made");
            }
        }
    }
}

thread_local! {
    /// Zero-sized items made and not yet dropped.
    static ALIVE: Cell<isize> = const { Cell::new(0) };
}

/// An item without size whose destructor counts nevertheless.
pub(crate) struct Nothing;

impl Nothing {
    fn alive() -> isize {
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

/// Items without size are counted like any other, and dropped (row `zero_sized_items`).
pub fn zero_sized_items<Q: SpscQueue>() {
    goes_through::<Any<Q>, ()>(100);
    goes_through::<Any<Q>, Nothing>(100);
    nothing_is_left::<Any<Q>>();
}

/// Checks that a queue, full or not, holds as many items without size as it says.
pub(crate) fn nothing_is_left<Q: Queue<Nothing>>() {
    assert_eq!(Nothing::alive(), 0);
    for capacity in [1, 2, 64, 65] {
        let mut queue = with_items::<Q, Nothing>(Config::new(capacity));
        let filled = queue.fill();
        assert_eq!(filled, queue.capacity());
        assert_eq!(Nothing::alive(), filled as isize);
        queue.pop();
        assert_eq!(Nothing::alive(), filled as isize - 1);
    }
    assert_eq!(Nothing::alive(), 0);
}

/// A ring of 16 MiB is made, used and dropped on a stack of 256 KiB (row `large_item_on_stack`).
pub fn large_item_on_stack<Q: SpscQueue>() {
    on_a_small_stack(|| {
        let mut queue = with_items::<Any<Q>, Large>(Config::new(4096));
        for n in [1, 70, 5000] {
            queue.push();
            queue.push_iter(n, true);
            queue.write_chunk(n, n);
            queue.read_chunk(n, n / 2);
            queue.take_chunk(n, n);
            queue.drain();
        }
        queue.push_iter(100, true);
        queue.read_chunk(10, 0);
    });
}

/// Runs `use_it` on a stack of 256 KiB.
pub(crate) fn on_a_small_stack(use_it: impl FnOnce() + Send + 'static) {
    let thread = thread::Builder::new().stack_size(256 << 10).spawn(use_it).unwrap();
    thread.join().unwrap();
}

//! The functions that simulated threads call.

use std::cell::{Cell, RefCell};
use std::panic::Location;
use std::ptr::{self, NonNull};
use std::thread::panicking;

use corosensei::Yielder;

use crate::Time;
use crate::buffer::{Bytes, Found, MAX_VALUE, Span};
use crate::directory::Request;
use crate::engine::{Engine, SiteId, Step, Wait};

thread_local! {
    /// The simulation that runs on this host thread.
    static CURRENT: Cell<Option<NonNull<Inside>>> = const { Cell::new(None) };
}

/// A simulation while it runs.
#[derive(Debug)]
pub(crate) struct Inside {
    engine: RefCell<Engine>,
    /// The running thread's yielder, through which it stops.
    yielder: Cell<*const Yielder<(), ()>>,
}

/// Leaves the simulation when dropped, even by a panic.
struct Leave;

impl Drop for Leave {
    fn drop(&mut self) {
        CURRENT.set(None);
    }
}

impl Inside {
    pub(crate) fn new(engine: Engine) -> Self {
        Self { engine: RefCell::new(engine), yielder: Cell::new(ptr::null()) }
    }

    /// Calls `run`, during which accesses are simulated.
    pub(crate) fn enter<R>(&self, run: impl FnOnce() -> R) -> R {
        assert!(CURRENT.get().is_none(), "a simulation can't run inside of another");
        CURRENT.set(Some(NonNull::from(self)));
        let _leave = Leave;
        run()
    }

    /// Ends the simulation. Stores that are still on their way become visible.
    pub(crate) fn leave(self) -> Engine {
        let mut engine = self.engine.into_inner();
        engine.write_all();
        engine
    }

    /// Called when a thread panics. The thread can't stop any more, because a thread that stops in
    /// a destructor can't be unwound. So its destructors aren't simulated, and must find all stores
    /// in memory.
    #[cold]
    fn give_up(&self) {
        if let Ok(mut engine) = self.engine.try_borrow_mut() {
            engine.write_all();
        }
    }

    pub(crate) fn next(&self) -> Step {
        self.engine.borrow_mut().next()
    }

    /// Stops the thread until it is resumed.
    ///
    /// This and what calls it is inlined: a processor guesses wrong at each return behind a switch
    /// of stacks.
    #[inline(always)]
    fn stop(&self) {
        let yielder = self.yielder.get();
        // SAFETY: this is called on the thread's own stack, where its yielder lives.
        unsafe { &*yielder }.suspend(());
        self.yielder.set(yielder);
    }

    /// Handles all events that are due before the thread continues.
    #[inline(always)]
    fn take_turn(&self) {
        while !self.engine.borrow_mut().is_due() {
            self.stop();
            if self.engine.borrow().has_turns() {
                return;
            }
        }
    }

    /// Takes the turn for an access at `location`.
    #[inline(always)]
    fn access(&self, location: &'static Location<'static>) -> SiteId {
        let site = self.engine.borrow_mut().site(location);
        self.take_turn();
        site
    }

    /// Waits for the store buffer, and charges the time.
    #[inline(always)]
    fn wait(&self, site: SiteId, wait: Wait) {
        self.stop_while(site, |engine| engine.must_wait(wait));
    }

    /// Stops the thread for as long as it must, and charges the time.
    #[inline(always)]
    fn stop_while(&self, site: SiteId, mut must: impl FnMut(&mut Engine) -> bool) {
        let mut engine = self.engine.borrow_mut();
        let since = engine.now();
        if !must(&mut engine) {
            return;
        }
        while {
            drop(engine);
            self.stop();
            engine = self.engine.borrow_mut();
            must(&mut engine)
        } {}
        engine.stalled(site, since);
    }

    /// Loads. Returns the value if it isn't the value in memory.
    fn load(&self, span: Span, location: &'static Location<'static>) -> Option<Bytes> {
        let site = self.access(location);
        let found = self.engine.borrow().find(span);
        match found {
            Found::Whole(value) => {
                self.engine.borrow_mut().forward(site);
                return value;
            }
            Found::Part => self.wait(site, Wait::Empty),
            Found::Nothing => {}
        }
        self.read_line(site, span);
        None
    }

    #[inline(always)]
    fn read_line(&self, site: SiteId, span: Span) {
        let line = self.await_line(site, span, Request::Read);
        self.engine.borrow_mut().read(site, line);
    }

    /// Waits while the line of `span` is busy with earlier requests. Returns the line's number. An
    /// access finds the value at the time when it is served.
    #[inline(always)]
    fn await_line(&self, site: SiteId, span: Span, what: Request) -> usize {
        let line = self.engine.borrow_mut().line_of(span);
        self.stop_while(site, |engine| engine.must_queue(line, what));
        line
    }

    fn store(&self, span: Span, value: (*mut u8, Bytes), location: &'static Location<'static>) {
        let site = self.access(location);
        self.make_way(site, span);
        self.engine.borrow_mut().store(site, span, Some(value));
    }

    /// Waits for room in the store buffer; without a store buffer, for the line.
    #[inline(always)]
    fn make_way(&self, site: SiteId, span: Span) {
        self.wait(site, Wait::Room);
        if !self.engine.borrow().buffers_stores() {
            self.await_line(site, span, Request::Write);
        }
    }

    fn read_modify_write(&self, span: Span, location: &'static Location<'static>) {
        self.engine.borrow_mut().await_loads();
        let site = self.access(location);
        self.wait(site, Wait::Empty);
        let line = self.await_line(site, span, Request::Modify);
        self.engine.borrow_mut().read_modify_write(site, line);
    }

    fn read(&self, span: Span, location: &'static Location<'static>) {
        let site = self.settle_values(span, location);
        self.engine.borrow_mut().guess_again();
        self.by_lines(span, |part| {
            let found = self.engine.borrow().find(part);
            match found {
                Found::Whole(_) => self.engine.borrow_mut().forward(site),
                Found::Part | Found::Nothing => self.read_line(site, part),
            }
        });
    }

    fn write(&self, span: Span, location: &'static Location<'static>) {
        let site = self.settle_values(span, location);
        self.by_lines(span, |part| {
            self.make_way(site, part);
            self.engine.borrow_mut().store(site, part, None);
        });
    }

    /// Accesses the parts of `span` in different lines, each in its own turn. The first part has
    /// its turn already.
    #[inline(always)]
    fn by_lines(&self, span: Span, access: impl Fn(Span)) {
        let line = self.engine.borrow().line();
        for (number, part) in span.by_lines(line).enumerate() {
            if number > 0 {
                self.take_turn();
            }
            access(part);
        }
    }

    /// Takes the turn for plain access to `span`. Waits until atomic stores to `span` are in
    /// memory.
    #[inline(always)]
    fn settle_values(&self, span: Span, location: &'static Location<'static>) -> SiteId {
        let site = self.access(location);
        if self.engine.borrow().awaits_value_in(span) {
            self.wait(site, Wait::Empty);
        }
        site
    }

    fn fence(&self, location: &'static Location<'static>) {
        self.engine.borrow_mut().await_loads();
        let site = self.access(location);
        self.wait(site, Wait::Empty);
        self.engine.borrow_mut().fenced();
    }
}

/// A thread starts, on its own stack.
pub(crate) fn begin_thread(yielder: &Yielder<(), ()>) {
    if let Some(inside) = inside() {
        inside.yielder.set(yielder);
    }
}

/// The thread ends.
pub(crate) fn end_thread() {
    if let Some(inside) = inside() {
        inside.engine.borrow_mut().end();
    }
}

/// The simulation that the caller is part of.
fn inside<'a>() -> Option<&'a Inside> {
    // SAFETY: the simulation exists as long as `Inside::enter` runs. Callers run inside `enter`,
    // and keep the reference no longer than their own call.
    let inside = CURRENT.get().map(|inside| unsafe { inside.as_ref() })?;
    if panicking() {
        inside.give_up();
        return None;
    }
    Some(inside)
}

/// Whether the caller is a simulated thread.
pub fn is_simulated() -> bool {
    inside().is_some()
}

/// The clock of the calling thread's core, or zero outside of a simulation.
pub fn now() -> Time {
    inside().map_or(Time::ZERO, |inside| inside.engine.borrow().now())
}

/// Whether to count the calling thread's accesses from now on. They are counted from the start. So
/// a thread with a warm-up calls this with `false` at its start, and with `true` after the warm-up.
pub fn count(on: bool) {
    if let Some(inside) = inside() {
        inside.engine.borrow_mut().count(on);
    }
}

/// Lets so much time pass in instructions that wait for no load.
pub fn compute(time: Time) {
    if let Some(inside) = inside() {
        inside.engine.borrow_mut().compute(time);
    }
}

/// Lets so much time pass in work on what was loaded, without access to memory.
pub fn work(time: Time) {
    if let Some(inside) = inside() {
        inside.engine.borrow_mut().work(time);
        inside.take_turn();
    }
}

/// Lets `turns` turns of a spin loop pass.
pub fn pause(turns: u32) {
    if let Some(inside) = inside() {
        inside.engine.borrow_mut().pause(turns);
        inside.take_turn();
    }
}

/// Waits until all stores of the calling thread are visible: a sequentially consistent fence.
///
/// Weaker fences cost nothing on a machine that keeps stores in order, and aren't simulated.
#[track_caller]
pub fn fence() {
    if let Some(inside) = inside() {
        inside.fence(Location::caller());
    }
}

/// Waits until all stores that any thread has made are visible: a fence on all cores.
#[track_caller]
pub fn fence_all() {
    fence();
    let Some(inside) = inside() else { return };
    let stores = inside.engine.borrow().stores();
    while !inside.engine.borrow().are_visible(&stores) {
        pause(1);
    }
}

/// Reads an atomic value. If it lies in two lines, only the first is charged, here and for
/// [`store`] and [`rmw`].
///
/// # Safety
///
/// `from` is valid for reads of `T` and aligned, and only threads of the running simulation access
/// it, or outside of one, only the caller.
#[track_caller]
pub unsafe fn load<T: Copy>(from: *const T) -> T {
    if let Some(inside) = inside()
        && let Some(bytes) = inside.load(Span::of(from), Location::caller())
    {
        // SAFETY: these are the bytes of the `T` that was last stored here.
        return unsafe { bytes.as_ptr().cast::<T>().read_unaligned() };
    }
    // SAFETY: the caller's contract.
    unsafe { from.read() }
}

/// Writes an atomic value. Other threads see it when it leaves the store buffer.
///
/// # Safety
///
/// `to` is valid for writes of `T` and aligned, and only threads of the running simulation access
/// it, or outside of one, only the caller. `to` stays valid until the calling thread passes a
/// [`fence`] or an [`rmw`], or another thread sees this store or a later store of the calling
/// thread, or [`forget`] is called, or the run ends.
#[track_caller]
pub unsafe fn store<T: Copy>(to: *mut T, value: T) {
    const { assert!(size_of::<T>() <= MAX_VALUE) };
    if let Some(inside) = inside() {
        let mut bytes = Bytes::uninit();
        // SAFETY: a `T` has at most so many bytes.
        unsafe { bytes.as_mut_ptr().cast::<T>().write_unaligned(value) };
        inside.store(Span::of(to), (to.cast(), bytes), Location::caller());
    } else {
        // SAFETY: the caller's contract.
        unsafe { to.write(value) }
    }
}

/// Reads an atomic value and writes the result of `update`, in one step; doesn't write if the
/// result is `None`. Takes the line exclusively in either case. All earlier stores of the calling
/// thread are visible before. Returns the value that was read.
///
/// # Safety
///
/// `at` is valid for reads and writes of `T` and aligned, and only threads of the running
/// simulation access it, or outside of one, only the caller. `update` doesn't call anything of this
/// crate.
#[track_caller]
pub unsafe fn rmw<T: Copy + PartialEq>(at: *mut T, update: impl FnOnce(T) -> Option<T>) -> T {
    let inside = inside();
    if let Some(inside) = inside {
        inside.read_modify_write(Span::of(at), Location::caller());
    }
    // SAFETY: the caller's contract.
    let old = unsafe { at.read() };
    if let Some(new) = update(old) {
        // SAFETY: the caller's contract.
        unsafe { at.write(new) };
        if let Some(inside) = inside.filter(|_| new != old) {
            inside.engine.borrow_mut().modified();
        }
    }
    old
}

/// Simulates a read of plain data. The caller reads the data afterwards.
#[track_caller]
pub fn read<T>(from: *const T, bytes: usize) {
    if let Some(inside) = inside() {
        inside.read(Span { address: from.addr(), bytes }, Location::caller());
    }
}

/// Simulates a write of plain data. The caller writes the data afterwards.
///
/// The data are in memory at once; the store buffer only takes time. This makes no difference to
/// threads that read the data after they have observed a later atomic store of the caller.
#[track_caller]
pub fn write<T>(to: *mut T, bytes: usize) {
    if let Some(inside) = inside() {
        inside.write(Span { address: to.addr(), bytes }, Location::caller());
    }
}

/// The value's memory is no longer used: stores to it that are still in a store buffer are dropped.
pub fn forget<T>(at: *const T) {
    if let Some(inside) = inside() {
        inside.engine.borrow_mut().forget(Span::of(at));
    }
}

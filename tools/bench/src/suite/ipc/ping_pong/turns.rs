//! Which thread of a process sends next.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Turns to send. A receiving thread gives one for each message, and a sending thread of its
/// process takes it. A thread without a turn sleeps at once, so that it leaves its core to the
/// threads that are measured.
pub(super) struct Turns {
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    turns: usize,
    /// Threads that can still give turns.
    givers: usize,
}

impl Turns {
    /// `turns` at the beginning, and later those of `givers` threads.
    pub(super) fn new(turns: usize, givers: usize) -> Self {
        Self { state: Mutex::new(State { turns, givers }), changed: Condvar::new() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn give(&self) {
        self.state().turns += 1;
        self.changed.notify_one();
    }

    /// Waits for a turn. False if none is left and no thread can give one.
    pub(super) fn take(&self) -> bool {
        let mut state = self.state();
        while state.turns == 0 && state.givers > 0 {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        let is_mine = state.turns > 0;
        state.turns -= usize::from(is_mine);
        is_mine
    }

    /// A thread gives no more turns.
    pub(super) fn leave(&self) {
        let mut state = self.state();
        state.givers = state.givers.saturating_sub(1);
        drop(state);
        self.changed.notify_all();
    }

    /// Ends the wait for turns. Those that were given are still taken.
    pub(super) fn close(&self) {
        self.state().givers = 0;
        self.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_are_taken_once_and_end_with_the_last_giver() {
        let turns = Turns::new(1, 2);
        turns.leave();
        turns.give();
        std::thread::scope(|scope| {
            let taker = scope.spawn(|| std::iter::from_fn(|| turns.take().then_some(())).count());
            turns.leave();
            assert_eq!(taker.join().expect("it ends"), 2);
        });
        turns.give();
        turns.close();
        assert_eq!([turns.take(), turns.take()], [true, false]);
    }
}

//! The part of a history that shows why no queue can have it.

use std::fmt;

use super::log::{Span, Value};

/// The violation in a history.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Violation {
    /// A pop returned a value that no thread pushed.
    Fresh,
    /// Two pops returned the same item.
    Repeated,
    /// A pop had ended before its item's push began.
    Early,
    /// The queue was drained, but an item was never popped.
    Lost,
    /// The last pop of the witness overtook all other items of the witness.
    Order,
    /// The first item of the witness was popped, if at all, after all other items of the witness,
    /// which were pushed after it.
    Late,
    /// A pop said empty, although at every moment of its call an item was in the queue.
    FalseEmpty,
    /// A push said full, although there was always room.
    FalseFull {
        /// Most items that can have been in the queue.
        most: usize,
        /// Fewest items that may fill the queue.
        least: usize,
    },
    /// More items than fit.
    Overfull {
        /// Items that fit.
        capacity: usize,
        /// Most items that were surely in the queue at one moment: when the push of `last` had
        /// answered.
        items: usize,
        /// The oldest of these items.
        first: Value,
        /// The newest of these items.
        last: Value,
    },
    /// An item was popped from a queue that overwrites, although too many newer items had been
    /// pushed.
    Outlived {
        /// Items that fit.
        capacity: usize,
        /// Newer items whose pushes had answered when the pop was called.
        newer: usize,
    },
    /// Two consumers of a broadcast got different items, where each had got and missed as many
    /// before.
    Disagreement,
    /// A consumer of a broadcast was told a wrong number of items that it has missed.
    Miscounted {
        /// Items that the consumer had got and missed, by its answers: before this item, or up to
        /// this answer.
        position: usize,
        /// Fewest items that it may have been.
        least: usize,
        /// Most items that it may have been.
        most: usize,
    },
    /// A full answer requires some pops to come later, which an empty answer requires to come
    /// earlier.
    FullAndEmpty {
        /// Pushes before the full answer.
        pushed: usize,
        /// Pops before the empty answer.
        popped: usize,
        /// Fewest items that may fill the queue.
        least: usize,
    },
    /// No item moved any more before all items were pushed and popped.
    ///
    /// Not a pattern in a history, but the way it ended. The same holds for
    /// [`FalseClosed`](Self::FalseClosed).
    Stuck {
        /// Items to be pushed.
        planned: usize,
        /// Items pushed.
        pushed: usize,
        /// Items popped.
        popped: usize,
    },
    /// A thread was told closed while the other side was not gone.
    FalseClosed {
        /// The thread that was told.
        thread: usize,
        /// Items to be pushed.
        planned: usize,
        /// Items pushed.
        pushed: usize,
        /// Items popped.
        popped: usize,
    },
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fresh => f.write_str("popped, but never pushed"),
            Self::Repeated => f.write_str("popped twice"),
            Self::Early => f.write_str("popped before it was pushed"),
            Self::Lost => f.write_str("pushed and never popped, though the queue was drained"),
            Self::Order => f.write_str("out of order: an item overtook items pushed before it"),
            Self::Late => f.write_str("too late: items pushed after an item overtook it"),
            Self::FalseEmpty => {
                f.write_str("false empty: at every moment of the call some item was in the queue")
            }
            Self::FalseFull { most, least } => {
                write!(
                    f,
                    "false full: never more than {most} items, and only {least} fill the queue"
                )
            }
            Self::Overfull { capacity, items, first, last } => write!(
                f,
                "overfull: {items} items in the queue at once, from {first} to {last}, when the push \
                 of the latter had answered; {capacity} fit"
            ),
            Self::Outlived { capacity, newer } => write!(
                f,
                "outlived: popped when {newer} newer items had been pushed; {capacity} fit, so it had been \
                 overwritten"
            ),
            Self::Disagreement => f.write_str("two consumers got different items at one place"),
            Self::Miscounted { position, least, most } => write!(
                f,
                "miscounted: after {position} items, got and missed, which were {least} to {most}"
            ),
            Self::FullAndEmpty { pushed, popped, least } => write!(
                f,
                "full after {pushed} pushes needs {least} items, so it was before pop {}; but the \
                 queue was empty after {popped} pops",
                pushed + 1 - least
            ),
            Self::Stuck { planned, pushed, popped } => write!(
                f,
                "stuck: nothing moves after {pushed} of {planned} pushes and {popped} pops, the last \
                 answers being"
            ),
            Self::FalseClosed { thread, planned, pushed, popped } => write!(
                f,
                "false closed: thread {thread} was told that the other side is gone, which was still \
                 at work, after {pushed} of {planned} pushes and {popped} pops"
            ),
        }
    }
}

/// A call and its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Call {
    /// A push of this value.
    Push(Value),
    /// A push of this value and the flush that makes it visible.
    Show(Value),
    /// A pop that returned this value.
    Pop(Value),
    /// A pop that found the queue empty.
    Empty,
    /// A push that found the queue full.
    Full,
    /// A pop that returned the number of items that its consumer has missed.
    Missed(u64),
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Push(value) => write!(f, "push {value}"),
            Self::Show(value) => write!(f, "push {value} and flush"),
            Self::Pop(value) => write!(f, "pop  {value}"),
            Self::Empty => f.write_str("pop  empty"),
            Self::Full => f.write_str("push full"),
            Self::Missed(n) => write!(f, "pop  missed {n}"),
        }
    }
}

/// An operation of a witness.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Operation {
    /// The thread that made the call.
    pub thread: usize,
    /// The call.
    pub call: Call,
    /// Its interval.
    pub span: Span,
}

/// A violation and the few operations that show it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Witness {
    /// The violation.
    pub violation: Violation,
    /// Operations that contradict each other.
    pub operations: Vec<Operation>,
}

impl Witness {
    /// Operations shown at either end of a long list.
    const SHOWN: usize = 6;

    fn write_operation(&self, f: &mut fmt::Formatter<'_>, op: &Operation) -> fmt::Result {
        let start = self.operations.iter().map(|op| op.span.invoked).min().unwrap_or(0);
        let call = op.call.to_string();
        write!(f, "\n  thread {}  {call:<16}", op.thread)?;
        match op.span.answered {
            Span::PENDING => write!(f, " from {:>8} ns, pending", op.span.invoked - start),
            end => {
                write!(f, " from {:>8} to {:>8} ns", op.span.invoked - start, end - start)
            }
        }
    }
}

impl fmt::Display for Witness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.violation)?;
        let hidden = self.operations.len().saturating_sub(2 * Self::SHOWN);
        let (first, rest) = match hidden {
            0 => (&self.operations[..], &[][..]),
            _ => (&self.operations[..Self::SHOWN], &self.operations[Self::SHOWN + hidden..]),
        };
        first.iter().try_for_each(|op| self.write_operation(f, op))?;
        if hidden > 0 {
            write!(f, "\n  … {hidden} more …")?;
        }
        rest.iter().try_for_each(|op| self.write_operation(f, op))
    }
}

impl std::error::Error for Witness {}

//! Histories of real threads, and a monitor that decides whether a queue can have them.
//!
//! Threads use a queue at full speed. Each thread notes its operations and their times in its own
//! [`Log`]. Afterwards [`check`] decides whether there is an order of all operations, each within
//! its interval, in which a queue gives these answers: whether the history is *linearizable*
//! (Herlihy and Wing 1990). If there is no such order, `check` returns a [`Witness`]: the few
//! operations that contradict each other.
//!
//! The monitor ([`check`]) knows logs, not queues. Module `drive` knows queues: a
//! [`HistorySubject`] records and checks one queue, with other capacities, batches, paces and
//! stamps each round, and with other numbers of threads if it may have several a side;
//! [`all_subjects`] lists the queues. Some rounds have long histories, some have many short ones: a
//! bug of closing has only one chance in each history. [`HistorySubject::run_round`] repeats a
//! round that has found a violation.
//!
//! # What threads note
//!
//! An interval is never narrower than the operation: [`Recorder`] says why. It may be wider, if
//! several operations share one interval. The log keeps the order of a thread's operations in any
//! case. So *a precedes b* means that a answers before b is called, by the stamps, or that one
//! thread called a, then b. Equal stamps of two threads give no order.
//!
//! Threads don't note `Busy`: it says nothing about the queue's contents. A queue is *drained* when
//! all consumers have been told that it is closed: while one consumer is told so, another may be
//! taking the last item.
//!
//! An operation may be pending at the end. A pending push may have happened or not. A pending pop
//! may have taken any item that no other pop returned.
//!
//! An item may stay invisible until a flush ([`Rules::delayed`]). Then it takes a slot and its
//! place in the order when it is pushed, but the queue counts as not empty only when the next flush
//! answers.
//!
//! # What is checked
//!
//! | [`Violation`] | in the papers |
//! |---|---|
//! | [`Fresh`](Violation::Fresh), [`Early`](Violation::Early): popped and not pushed before | VFresh |
//! | [`Repeated`](Violation::Repeated): popped twice | VRepet |
//! | [`Order`](Violation::Order): a's push precedes b's push, and b is popped, but b's pop precedes a's pop, or a is never popped | VOrd |
//! | [`Late`](Violation::Late): more items overtook an item than [may](#relaxed-queues) | |
//! | [`FalseEmpty`](Violation::FalseEmpty): the times from an item's visibility to the call of its pop cover the call that answered empty | VWit |
//! | [`Lost`](Violation::Lost): the queue was drained and an item is missing | VWit, for an empty answer after all operations |
//! | [`Overfull`](Violation::Overfull): more items were surely in the queue at one moment than fit | |
//! | [`FalseFull`](Violation::FalseFull): at no moment of the call there may have been as many items as the capacity | |
//! | [`FullAndEmpty`](Violation::FullAndEmpty): each of two answers is possible, but not both | |
//! | [`Outlived`](Violation::Outlived): a queue that overwrites gave an item that was surely overwritten | |
//! | [`Disagreement`](Violation::Disagreement), [`Miscounted`](Violation::Miscounted): see [broadcasts](#broadcasts) | |
//!
//! # What that proves
//!
//! No alarm is false: each pattern alone excludes all orders, whatever the threads. The monitor
//! misses no violation in these cases:
//!
//! - *Any number of threads, an unbounded queue*, if every operation has its own interval, no two
//!   stamps are equal and no pop is pending. Such a history is linearizable if and only if it has
//!   none of the first four patterns (Henzinger, Sezgin, Vafeiadis: *Aspect-Oriented
//!   Linearizability Proofs*, CONCUR 2013; Bouajjani, Emmi, Enea, Hamza: *On Reducing
//!   Linearizability to State Reachability*, ICALP 2015, by induction as below). Items must be
//!   distinct, and here they are numbered.
//! - *One producer and one consumer, bounded or not, delayed or not*, whatever intervals are
//!   shared, if no pop is pending. Each side's order is fixed. So a history has no order only if
//!   two operations of one side and two of the other form a cycle. Each possible kind of cycle is a
//!   row of the table.
//!
//! Why the fourth pattern needs only the union of intervals, although first-in-first-out also
//! orders operations that overlap. Order an empty answer as early as possible. The set of
//! operations before the answer is closed under two rules: *an operation that precedes one in the
//! set is in the set*, and *a push is in the set if and only if its pop is*. By the first rule, all
//! operations with answers before some moment T are in the set. By the second rule, T advances to
//! the latest call of a pop whose push is in the set. T stops where the intervals leave a gap. If
//! there is a gap in the call, the set is closed under the derived order, too: if a must leave
//! before b and b is in the set, so is b's pop, or b's push, and with it a. So the history splits
//! into two parts that can be ordered independently.
//!
//! The monitor may miss, with *several producers or consumers*: cycles of more than two items among
//! operations that share intervals; and full answers that are each possible, but contradict each
//! other, empty answers, or the order of items. With a pending pop it may miss that the pop has
//! taken only one item. What it may miss of relaxed queues is said [below](#relaxed-queues).
//!
//! The tests compare all this with an exhaustive search.
//!
//! A history has no answers that never came. So a queue that moves no item any more, or says closed
//! before all items are pushed, may have a short history without violations. [`record`] knows the
//! plan and compares the end with it: [`Stuck`](Violation::Stuck),
//! [`FalseClosed`](Violation::FalseClosed). `Stuck` is not proved, but the result of patience: a
//! thread has slept a thousand times without progress, and all other threads have left, or have
//! slept half as often in that time. So the thread was not just waiting for a core.
//!
//! # Relaxed queues
//!
//! With [`Rules::k`] above 0, a pop takes one of the k + 1 oldest items, so that k = 0 is the plain
//! queue. This is the k-out-of-order relaxation of Henzinger, Kirsch, Payer, Sezgin, Sokolova
//! (*Quantitative Relaxation of Concurrent Data Structures*, POPL 2013). In addition, at most k
//! younger items leave before an item: the [delay](corelane::relaxed) has the same bound as the
//! rank error. The library's k-FIFO is `Rules::k` + 1.
//!
//! An item overtook another if the other's push precedes its push, and its pop precedes the other's
//! pop, or the other was never popped. Such pairs are the same in every order of the operations. So
//! an item that more than k items overtook, or that overtook more than k items, excludes all
//! orders. The monitor counts pairs of one kind of precedence at a time, and looks at each item
//! alone: it may miss a violation that only several items together show. With one producer and one
//! consumer no pair of popped items is missed.
//!
//! With [`Rules::relaxed`] answers are relaxed as well: empty is false only if one item was in the
//! queue for the whole call, and full is not checked. A relaxed queue may say full while another
//! call is unfinished, and the notes don't tell when no call was: they lack busy answers. A queue
//! that says full for ever is stuck.
//!
//! [`Disorder`] is not a decision but a measure: how far items left out of turn.
//!
//! # Queues that overwrite
//!
//! With [`Rules::kept`] a push may drop the oldest items, as long as the `kept` newest items stay;
//! it must drop items beyond the capacity. With [`Rules::drops_first`] its own item comes a moment
//! later. An item that no consumer popped is then not a violation if `kept` items may be newer. The item is surely in the queue until the push of the last of
//! these is called. With several consumers, one of them may have been taking the item when it was
//! overwritten. Its call then returns another item or none: so for other consumers the item left
//! the queue when that call began, or later. Busy answers are not noted, so the call is assumed to
//! begin at the thread's previous answer. With [`Rules::voids`] an item is also lost if a push
//! `kept` items earlier has not finished to fill its slot.
//!
//! # Broadcasts
//!
//! With [`Rules::broadcasts`] each consumer gets each item, or is told how many it has missed. All
//! consumers are there before the first push. So the items that a consumer has got and missed give
//! its next item's place in the one order of all pushes. Consumers must agree on the item of each
//! place. The order must be that of pushes that precede each other. Each place must be possible for
//! its item, by the pushes that surely, or possibly, came before. So a wrong number of missed items
//! is found, exactly if there is one producer, or if another consumer got the next item. An item is
//! missed only when `capacity` items are newer, and then surely.
//!
//! # Full and empty at once
//!
//! Rings that publish with release and look with acquire have histories with the pattern
//! `FullAndEmpty`, on x86 too. The producer stores its counter, or a slot's flag, and finds the
//! queue full by an old store of the consumer. The consumer stores its own counter or flag, and
//! finds the queue empty by an old store of the producer. The new stores wait in store buffers.
//! Each answer alone is right, and out of date when it is used. A fence that excludes the pair
//! would slow down every poll of an empty queue. So [`HistorySubject::run`] counts these histories
//! ([`Summary::contradictory`]) and does not call them violations.
//!
//! # Cost
//!
//! All passes are linear except the sorts. Each thread's stamps are a sorted run, so a sort takes
//! O(n log p) for p threads, at most O(n log n). Relaxed order adds a factor log k, and doubles the
//! passes. Each full answer costs a few binary searches, and some more for every push that is
//! called meanwhile. Lee and Mathur (*Efficient Decrease-and-Conquer Linearizability Monitoring*,
//! OOPSLA 2025) and Abdulla and others (*Efficient Linearizability Monitoring*, PLDI 2025) reach
//! O(n log n) for unbounded queues in other ways.

mod broadcast;
mod disorder;
mod drive;
mod empty;
mod full;
mod late;
mod log;
mod monitor;
mod order;
mod overwriting;
mod table;
mod witness;

pub use disorder::{Disorder, Passage, Spread, most_behind};
pub use drive::{
    Clock, Finding, GoOn, HistorySubject, Pace, Plan, Recorder, Recording, Summary, Way,
    all_subjects, record, record_all, record_several,
};
pub use log::{Log, Span, Value};
pub use monitor::{Counts, History, Rules, check};
pub use witness::{Call, Operation, Violation, Witness};

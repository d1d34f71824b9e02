//! Histories of real threads, and a monitor that says whether a queue can have them.
//!
//! Threads use a queue at full speed and note, each in a [`Log`] of its own, what they did and when.
//! Afterwards [`check`] decides whether there is an order of all operations, each within its interval,
//! in which a queue gives these answers: whether the history is *linearizable* (Herlihy and Wing 1990).
//! If there is none, it shows the few operations that can't be together, a [`Witness`].
//!
//! The monitor ([`check`]) knows logs, not queues. Module `drive` knows queues: a [`HistorySubject`] records and checks
//! one queue, with other capacities, batches, paces and stamps each round, and with other numbers of threads if it may
//! have several a side; [`all_subjects`] lists the queues. Some rounds are of long histories, some of many short ones:
//! what goes wrong only when a side leaves has one chance in each. [`HistorySubject::run_round`] repeats a round that
//! has found something.
//!
//! # What is noted
//!
//! An interval is never narrower than the operation: [`Recorder`] says why. It may be wider, if several
//! operations share one. The order of a thread's operations is kept in any case. So with *a precedes b*
//! it is meant that a answers before b is called, by the stamps, or that one thread called a, then b.
//! Equal stamps of two threads say nothing.
//!
//! `Busy` is noted nowhere: it is neither full nor empty, and says nothing of what is in the queue. A queue
//! was drained if *all* consumers have been told that nothing will come: while one is told, another may
//! have the last item in its hands.
//!
//! An operation may be pending at the end. A pending push may have happened or not. A pending pop may
//! have taken any item that no other pop gave.
//!
//! Where an item stays invisible until a flush ([`Rules::delayed`]), there are three moments: it takes a
//! slot and its place in the order when it is pushed, and it makes the queue not empty when the flush
//! after it answers.
//!
//! # What is checked
//!
//! | [`Violation`] | in the papers |
//! |---|---|
//! | [`Fresh`](Violation::Fresh), [`Early`](Violation::Early): popped and not pushed before | VFresh |
//! | [`Repeated`](Violation::Repeated): popped twice | VRepet |
//! | [`Order`](Violation::Order): a's push precedes b's, and b is popped, but a's pop does not come first: b's precedes it or it never comes | VOrd |
//! | [`FalseEmpty`](Violation::FalseEmpty): the times from an item's visibility to the call of its pop cover the call that answered empty | VWit |
//! | [`Lost`](Violation::Lost): the queue was drained and an item is missing | VWit, for an empty answer after all |
//! | [`Overfull`](Violation::Overfull): more items were surely in the queue at one moment than fit | |
//! | [`FalseFull`](Violation::FalseFull): at no moment of the call there may have been as many items as the capacity | |
//! | [`FullAndEmpty`](Violation::FullAndEmpty): each of two answers is possible, but not both | |
//! | [`Outlived`](Violation::Outlived): a queue that overwrites gave an item that was surely overwritten | |
//!
//! # What that proves
//!
//! No alarm is false: each pattern alone excludes all orders, whatever the threads. What is never missed:
//!
//! - *Any number of threads, an unbounded queue*, if every operation has its own interval, no two stamps
//!   are equal and no pop is pending. Such a history is linearizable if and only if it has none of the
//!   first four patterns (Henzinger, Sezgin, Vafeiadis: *Aspect-Oriented Linearizability Proofs*, CONCUR
//!   2013; Bouajjani, Emmi, Enea, Hamza: *On Reducing Linearizability to State Reachability*, ICALP 2015,
//!   by induction as below). Items must be distinct, and here they are numbered.
//! - *One producer and one consumer, bounded or not, delayed or not*, whatever intervals are shared, if
//!   no pop is pending. Each side's order is fixed, so a history has no order only if two operations
//!   of one side enclose, in a circle, two of the other, and each way in which that can be is a row of
//!   the table.
//!
//! Why the fourth pattern needs no more than the union of intervals, although first-in-first-out also
//! orders operations that overlap: let an empty answer be before all that comes after its call, and
//! close the set of operations before it under two rules, *what precedes one of them is before it* and
//! *a push is before it if and only if its pop is*. By the first, all with answers before some moment T
//! are in the set, and by the second T moves on to the latest call of a pop whose push is in it. It ends
//! where the intervals leave a gap. If there is a gap in the call, the set is closed under the derived
//! order, too: if a must leave before b and b is in the set, so is b's pop, or b's push, and with it a.
//! So the history falls into two that can be ordered each for itself.
//!
//! What may be missed: with *several producers or consumers*, circles of more than two items among
//! operations that share intervals; full answers that are each possible, but not together with each
//! other, with empties, or with the order of items; with a pending pop, that it has taken only one item.
//! With [`Rules::k`] above 0, each pop is held against the items that it surely overtook, one kind of
//! precedence at a time, not against the choices of other pops. The definition is the k-out-of-order
//! relaxation of Henzinger, Kirsch, Payer, Sezgin, Sokolova (*Quantitative Relaxation of Concurrent Data
//! Structures*, POPL 2013): a pop takes one of the k + 1 oldest items, so that k = 0 is the plain queue.
//!
//! The tests compare all this with an exhaustive search.
//!
//! A history says nothing of answers that never came, so a queue that moves nothing any more, or says
//! closed before all is pushed, may have a short and clean one. [`record`] knows the plan and holds the
//! end against it: [`Stuck`](Violation::Stuck), [`FalseClosed`](Violation::FalseClosed). The first is
//! a matter of patience, not of proof: a thread has slept a thousand times in vain, and all others have
//! left, or slept half as often in that time, so it was not just waiting for a core.
//!
//! # Queues that overwrite
//!
//! With [`Rules::kept`] a push may drop oldest items, as long as so many of the newest stay; it must drop what is
//! beyond the capacity. What nobody popped is then not lost if as many items may be newer, and it is surely in the queue
//! until the push of the last of these is called. Where there are several consumers, one may have had the item in
//! its hands when it was overwritten, and its call answers with another item or with nothing: so for the others the
//! item left the queue when that call began, or later. Busy answers are not noted, so the call is taken to have
//! begun when the thread's last answer before came. With [`Rules::voids`] an item is lost, too, whose place a push of `kept`
//! items earlier has not finished to fill.
//!
//! # Full and empty at once
//!
//! Rings that publish with release and look with acquire have histories with the last pattern, on x86
//! too. The producer stores its counter, or a slot's flag, and finds the queue full by what the consumer
//! has stored long ago; the consumer stores its own and finds the queue empty by what the producer has
//! stored long ago; the new stores wait in store buffers. Either answer is right for itself and out of
//! date by the time it is used, and a fence to exclude the pair would cost every poll of an empty queue.
//! So [`HistorySubject::run`] counts these histories ([`Summary::contradictory`]) and does not call them
//! violations.
//!
//! # Cost
//!
//! All passes are linear but for the sorts, which find the runs that each thread's stamps are: O(n log p)
//! for p threads, at most O(n log n); relaxed order adds a factor log k. Fulls cost a few binary searches
//! each, and some more for every push that is called meanwhile. Lee and Mathur (*Efficient
//! Decrease-and-Conquer Linearizability Monitoring*, OOPSLA 2025) and Abdulla and others (*Efficient
//! Linearizability Monitoring*, PLDI 2025) reach O(n log n) for unbounded queues in other ways.

mod drive;
mod empty;
mod full;
mod log;
mod monitor;
mod order;
mod overwriting;
mod table;
mod witness;

pub use drive::{
    Clock, Finding, GoOn, HistorySubject, Pace, Plan, Recorder, Recording, Summary, Way,
    all_subjects, record, record_all, record_several,
};
pub use log::{Log, Span, Value};
pub use monitor::{Counts, History, Rules, check};
pub use witness::{Call, Operation, Violation, Witness};

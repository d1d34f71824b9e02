// Above 500 lines: a short function for each model, of which each can be read alone.

//! Channels: their ends, a channel of capacity 0, a select, and exact queues.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use corelane_loom::channel::{Select, mpsc, oneshot, spmc, spsc, task};
use corelane_loom::exact::Exact;
use corelane_loom::leased::Leased;
use corelane_loom::memory::{AtomicU64, Ordering};
use corelane_loom::{Config, Consumer, Producer, Queue, TryPushError};

use loom::hint::spin_loop;

use crate::explore::{both, explore, explore_shared};
use crate::item::{Cargo, Number, Ticket};
use crate::queue::SharedSubject;
use crate::thread::spawn;
use crate::{Exploration, Model};

pub(crate) fn models() -> Vec<Model> {
    let SharedSubject::<Ticket, Number> { of, .. } = SharedSubject::new::<Leased>();
    vec![
        of.model("channel_wait_for_a_message", for_a_message),
        of.model("channel_wait_for_room", for_room),
        of.model("channel_task_waits_for_a_message", task_waits_for_a_message),
        of.model("channel_task_waits_for_room", task_waits_for_room),
        of.model("channel_task_waits_for_the_end", task_waits_for_the_end),
        of.model("channel_holder_sends_to_a_sleeper", holder_sends_to_a_sleeper),
        of.model("channel_holder_makes_room_for_a_sleeper", holder_makes_room_for_a_sleeper),
        of.model("channel_holder_sends_while_it_is_closed", holder_sends_while_it_is_closed),
        of.model("channel_holder_sends_to_nobody", holder_sends_to_nobody),
        of.model("channel_holder_sends_to_a_select", holder_sends_to_a_select),
        of.model("channel_last_sender_goes", last_sender_goes),
        of.model("channel_last_receiver_goes", last_receiver_goes),
        of.model("channel_closed", closed),
        of.model("channel_handed_over", handed_over),
        of.model("channel_handed_over_in_time", handed_over_in_time),
        of.model("channel_select", select),
        of.model("channel_select_until_a_channel_ends", || select_until_the_end(false)),
        of.model("channel_select_before_a_channel_ends", || select_until_the_end(true)),
        of.model("channel_select_to_send", select_to_send),
        of.model("channel_select_waits_for_reserved_room", select_waits_for_reserved_room),
        of.model("channel_select_while_a_message_moves", select_while_a_message_moves),
        of.model("channel_select_while_a_reservation_ends", select_while_a_reservation_ends),
        of.model("channel_select_while_room_moves", select_while_room_moves),
        of.model("channel_reserved_room_is_given_back", reserved_room_is_given_back),
        of.model("channel_last_senders_go", last_senders_go),
        of.model("channel_one_message", one_message),
        of.model("channel_one_message_never_comes", one_message_never_comes),
        of.model("channel_one_message_for_nobody", one_message_for_nobody),
        of.model("channel_one_message_in_a_task_that_moves", one_message_in_a_task_that_moves),
        of.model("channel_permit_in_a_closed_channel", permit_in_a_closed_channel),
        of.model("channel_permit_is_dropped_in_a_closed_channel", permit_is_dropped),
        of.model("channel_permit_for_nobody", permit_for_nobody),
        of.model("channel_reserve_while_it_is_closed", reserve_while_it_is_closed),
        of.model("channel_task_waits_for_a_permit", task_waits_for_a_permit),
        of.model("channel_tasks_reserve_in_turns", tasks_reserve_in_turns),
        of.model("channel_task_waits_until_it_is_closed", task_waits_until_it_is_closed),
        of.model("channel_weak_sender_while_the_last_one_goes", weak_sender),
        of.model("channel_weak_sender_keeps_no_message", weak_sender_keeps_no_message),
        of.model("channel_one_message_while_it_is_closed", one_message_while_it_is_closed),
        of.model("channel_one_message_waits_until_it_is_closed", one_message_waits_for_the_end),
        of.model("channel_one_message_moves_until_it_is_closed", one_message_moves_until_the_end),
        of.model("exact", exact),
        of.model("exact_transfer", exact_transfer),
    ]
}

/// The receiver announces itself while the sender sends.
fn for_a_message() -> Exploration {
    explore(|| {
        let (tx, rx) = spsc::bounded(1);
        let (tx, message) = both(
            move || {
                tx.send(1_u64).expect("the receiver is there");
                tx
            },
            || rx.recv(),
        );
        assert_eq!(message, Ok(1));
        drop(tx);
    })
}

/// The sender of a full channel announces itself while the receiver receives.
fn for_room() -> Exploration {
    explore(|| {
        let (tx, rx) = spsc::bounded(1);
        tx.send(1_u64).expect("there is room");
        let (tx, message) = both(
            move || {
                tx.send(2).expect("the receiver is there");
                tx
            },
            || rx.recv(),
        );
        assert_eq!((message, rx.recv()), (Ok(1), Ok(2)));
        drop(tx);
    })
}

/// What `work` returns, and what a task gets that is polled meanwhile: at once, or when it is woken.
pub(crate) fn beside_a_task<R: Send + 'static, F: Future + Unpin>(
    work: impl FnOnce() -> R + Send + 'static,
    mut future: F,
) -> (R, F::Output) {
    let woken = Arc::new(Woken(AtomicU64::new(0)));
    let waker = Waker::from(woken.clone());
    let mut poll = || Pin::new(&mut future).poll(&mut Context::from_waker(&waker));
    let (result, first) = both(work, &mut poll);
    let output = match first {
        Poll::Ready(output) => output,
        Poll::Pending => {
            assert_eq!(woken.0.load(Ordering::Acquire), 1, "it sleeps, and nothing wakes it");
            match poll() {
                Poll::Ready(output) => output,
                Poll::Pending => panic!("it was woken, and still waits"),
            }
        }
    };
    (result, output)
}

/// A task looks for a message while the sender sends it.
fn task_waits_for_a_message() -> Exploration {
    explore(|| {
        let (tx, mut rx) = spsc::bounded(1);
        let send = move || {
            tx.send(1_u64).expect("the receiver is there");
            tx
        };
        let (tx, message) = beside_a_task(send, rx.recv_async());
        assert_eq!(message, Ok(1));
        drop(tx);
    })
}

/// A task looks for room while the receiver makes some.
fn task_waits_for_room() -> Exploration {
    explore(|| {
        let (mut tx, rx) = spsc::bounded(1);
        tx.send(1_u64).expect("there is room");
        let receive = move || {
            assert_eq!(rx.recv(), Ok(1));
            rx
        };
        let (rx, sent) = beside_a_task(receive, tx.send_async(2));
        assert!(sent.is_ok());
        assert_eq!(rx.recv(), Ok(2));
    })
}

/// Tasks of both sides look while the channel is closed.
fn task_waits_for_the_end() -> Exploration {
    explore(|| {
        let (tx, mut rx) = spsc::bounded::<u64>(1);
        let (_, message) = beside_a_task(move || drop(tx), rx.recv_async());
        assert!(message.is_err());
        drop(rx);
        let (mut tx, rx) = spsc::bounded::<u64>(1);
        tx.send(1).expect("there is room");
        // It may have found the room of the message that the receiver dropped.
        let _ = beside_a_task(move || drop(rx), tx.send_async(2));
    })
}

/// Two senders, of which the first has sent a message and holds the lease, and their receiver.
fn holder_and_other() -> ([Box<spsc::Sender<u64>>; 2], Box<spsc::Receiver<u64>>) {
    let (tx, rx) = mpsc::bounded(2);
    let [holder, other] = [Box::new(tx.local()), Box::new(tx.local())];
    drop(tx);
    holder.send(0).expect("there is room");
    assert_eq!(rx.recv(), Ok(0));
    ([holder, other], Box::new(rx))
}

/// A sender that holds the lease looks at nothing but its word: the receiver that announces itself
/// asks for attention there.
fn holder_sends_to_a_sleeper() -> Exploration {
    explore(|| {
        let ([holder, other], rx) = holder_and_other();
        let (holder, message) = both(
            move || {
                holder.send(1).expect("the receiver is there");
                holder
            },
            || rx.recv(),
        );
        assert_eq!(message, Ok(1));
        drop((holder, other));
    })
}

/// The same of a receiver that holds the lease, and a sender that waits for room.
fn holder_makes_room_for_a_sleeper() -> Exploration {
    explore(|| {
        let (tx, rx) = spmc::bounded(1);
        let [holder, other] = [Box::new(rx.local()), Box::new(rx.local())];
        drop(rx);
        tx.send(0_u64).expect("there is room");
        assert_eq!(holder.recv(), Ok(0));
        tx.send(1).expect("there is room");
        let (tx, message) = both(
            move || {
                tx.send(2).expect("the receiver is there");
                tx
            },
            || holder.recv(),
        );
        assert_eq!((message, holder.recv()), (Ok(1), Ok(2)));
        drop((tx, other));
    })
}

/// A send that began after the channel was closed fails. What a send before has sent is received.
fn holder_sends_while_it_is_closed() -> Exploration {
    explore(|| {
        let ([holder, other], rx) = holder_and_other();
        let (sent, ()) = both(
            move || {
                let sent = holder.send(1).is_ok();
                (holder, sent)
            },
            || rx.close(),
        );
        let (holder, sent) = sent;
        assert!(holder.send(2).is_err() && other.send(3).is_err());
        assert_eq!(rx.recv().ok(), sent.then_some(1));
        assert!(rx.recv().is_err());
        drop((holder, other));
    })
}

/// A message is dropped, sent or not, although the sender is still there.
fn holder_sends_to_nobody() -> Exploration {
    explore(|| {
        let (tx, rx) = mpsc::bounded(2);
        let [holder, other] = [Box::new(tx.local()), Box::new(tx.local())];
        drop(tx);
        let dropped = Arc::new(AtomicU64::new(0));
        assert!(holder.send(Counted(dropped.clone())).is_ok());
        drop(rx.recv());
        let message = Counted(dropped.clone());
        let (holder, ()) = both(
            move || {
                drop(holder.send(message));
                holder
            },
            || drop(rx),
        );
        assert_eq!(dropped.load(Ordering::Acquire), 2);
        drop((holder, other));
    })
}

/// A select that waits for a message asks the holder for attention, too.
fn holder_sends_to_a_select() -> Exploration {
    explore(|| {
        let ([holder, other], rx) = holder_and_other();
        let (holder, received) = both(
            move || {
                holder.send(1).expect("the receiver is there");
                holder
            },
            || {
                let mut select = Select::new_biased();
                select.recv(&rx);
                select.select().recv(&rx)
            },
        );
        assert_eq!(received, Ok(1));
        drop((holder, other));
    })
}

/// The receiver gets the last message, and then learns that there will be no more.
fn last_sender_goes() -> Exploration {
    explore(|| {
        let (tx, rx) = spsc::bounded(1);
        let noted = Arc::new(AtomicU64::new(0));
        let note = noted.clone();
        let ((), messages) = both(
            move || {
                tx.send(1_u64).expect("the receiver is there");
                note.store(1, Ordering::Relaxed);
            },
            || {
                let has_ended = rx.is_closed();
                assert!(!has_ended || (rx.len(), noted.load(Ordering::Relaxed)) == (1, 1));
                (rx.recv().ok(), rx.recv().ok())
            },
        );
        assert_eq!(messages, (Some(1), None));
    })
}

/// The receiver of an only message announces itself while it is sent.
fn one_message() -> Exploration {
    explore(|| {
        let (tx, rx) = oneshot();
        let (sent, received) = both(move || tx.send(Ticket::of(0)).is_ok(), || rx.recv());
        assert!(sent);
        assert_eq!(received.map(|message| message.number()), Ok(0));
    })
}

/// The sender goes without a message while the receiver waits.
fn one_message_never_comes() -> Exploration {
    explore(|| {
        let (tx, rx) = oneshot::<Ticket>();
        let ((), received) = both(move || drop(tx), || rx.recv().is_ok());
        assert!(!received);
    })
}

/// The receiver goes, after a look in vain, while the message is sent: the sender gets it back, or
/// it is dropped.
fn one_message_for_nobody() -> Exploration {
    explore(|| {
        let (tx, mut rx) = oneshot();
        let waker = Waker::from(Arc::new(Woken(AtomicU64::new(0))));
        assert!(Pin::new(&mut rx).poll(&mut Context::from_waker(&waker)).is_pending());
        both(move || drop(tx.send(Ticket::of(0))), || drop(rx));
    })
}

/// Notes that it was woken.
pub(crate) struct Woken(pub(crate) AtomicU64);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        // Release ↔ Acquire in the model.
        self.0.store(1, Ordering::Release);
    }
}

/// A task that waits for an only message is polled with another waker while it is sent.
fn one_message_in_a_task_that_moves() -> Exploration {
    explore(|| {
        let (tx, mut rx) = oneshot();
        assert!(Pin::new(&mut rx).poll(&mut Context::from_waker(Waker::noop())).is_pending());
        let (sent, received) = beside_a_task(move || tx.send(Ticket::of(0)).is_ok(), rx);
        assert!(sent);
        assert_eq!(received.map(|message| message.number()), Ok(0));
    })
}

/// The receiver is woken when both senders have gone, whichever is the last.
fn last_senders_go() -> Exploration {
    explore_shared(|| {
        let (tx, rx) = mpsc::bounded::<u64>(1);
        let (one, other) = (tx.local(), tx.local());
        drop(tx);
        let waits = spawn(move || {
            let received = rx.recv();
            (rx, received)
        });
        both(move || drop(one), || drop(other));
        let (rx, received) = waits.join();
        assert!(received.is_err());
        // The last, since loom doesn't see what `Arc` orders.
        drop(rx);
    })
}

/// Counts messages that were dropped.
struct Counted(Arc<AtomicU64>);

impl Drop for Counted {
    fn drop(&mut self) {
        // Release ↔ Acquire in `last_receiver_goes`.
        self.0.fetch_add(1, Ordering::Release);
    }
}

/// A message is dropped, sent or not, although the sender is still there.
fn last_receiver_goes() -> Exploration {
    explore(|| {
        let (tx, rx) = spsc::bounded(2);
        let dropped = Arc::new(AtomicU64::new(0));
        let message = Counted(dropped.clone());
        let (tx, ()) = both(
            move || {
                drop(tx.send(message));
                tx
            },
            || drop(rx),
        );
        assert_eq!(dropped.load(Ordering::Acquire), 1);
        assert!(tx.send(Counted(dropped)).is_err());
    })
}

/// The receiver gets the last message, and is woken when the sender closes the channel.
fn closed() -> Exploration {
    explore(|| {
        let (tx, rx) = spsc::bounded::<u64>(1);
        let noted = Arc::new(AtomicU64::new(0));
        let note = noted.clone();
        let (tx, received) = both(
            move || {
                tx.send(1).expect("the receiver is there");
                note.store(1, Ordering::Relaxed);
                tx.close();
                tx
            },
            || (rx.recv().ok(), rx.recv().ok(), noted.load(Ordering::Relaxed)),
        );
        assert_eq!(received, (Some(1), None, 1));
        assert!(tx.send(2).is_err());
    })
}

/// A sender and a receiver meet.
fn handed_over() -> Exploration {
    explore(|| {
        let (tx, rx) = spsc::bounded(0);
        let (sent, received) = both(move || tx.send(1_u64).is_ok(), || rx.recv());
        assert_eq!((sent, received), (true, Ok(1)));
    })
}

/// A receiver gives up while a sender comes: both know whether they have met.
fn handed_over_in_time() -> Exploration {
    explore(|| {
        let (tx, rx) = spsc::bounded(0);
        let (sent, received) =
            both(move || tx.try_send(1_u64).is_ok(), || rx.recv_timeout(Duration::ZERO));
        assert_eq!(sent, received.is_ok());
    })
}

/// A select waits for two channels while a message comes into one.
fn select() -> Exploration {
    explore(|| {
        let (tx, rx) = spsc::bounded(1);
        let (other_tx, other_rx) = spsc::bounded::<u64>(1);
        let (tx, received) = both(
            move || {
                tx.send(1_u64).expect("the receiver is there");
                tx
            },
            || {
                let mut select = Select::new_biased();
                select.recv(&other_rx);
                select.recv(&rx);
                let selected = select.select();
                assert_eq!(selected.index(), 1);
                selected.recv(&rx)
            },
        );
        assert_eq!(received, Ok(1));
        drop((tx, other_tx));
    })
}

/// A select waits for two channels while one ends. It finds the last message first, if there is one.
///
/// A `Selector` only adds functions to such a select, and chance, which would make executions differ.
fn select_until_the_end(has_message: bool) -> Exploration {
    explore(move || {
        let (tx, rx) = spsc::bounded(1);
        let (other_tx, other_rx) = spsc::bounded::<u64>(1);
        let end = move || {
            if has_message {
                tx.send(1_u64).expect("the receiver is there");
            }
            drop(tx);
        };
        let receive = || {
            let mut select = Select::new_biased();
            select.recv(&other_rx);
            select.recv(&rx);
            let selected = select.select();
            assert_eq!(selected.index(), 1);
            selected.recv(&rx).ok()
        };
        let ((), first) = both(end, receive);
        assert_eq!(first, has_message.then_some(1));
        assert_eq!(receive(), None);
        drop(other_tx);
    })
}

/// A channel with two receivers, and another one.
type TwoChannels = (
    Box<spmc::Sender<u64>>,
    [Box<spsc::Receiver<u64>>; 2],
    Box<spsc::Sender<u64>>,
    Box<spsc::Receiver<u64>>,
);

/// In boxes, and made by a call of its own: loom's threads have small stacks.
#[inline(never)]
fn two_channels() -> TwoChannels {
    let (tx, rx) = spmc::bounded(1);
    let (other_tx, other_rx) = spsc::bounded(1);
    let locals = [Box::new(rx.local()), Box::new(rx.local())];
    (Box::new(tx), locals, Box::new(other_tx), Box::new(other_rx))
}

/// A message leaves one channel when there is one in the other: a select never finds both empty.
fn select_while_a_message_moves() -> Exploration {
    explore(|| {
        let (tx, [local, mine], other_tx, other_rx) = two_channels();
        tx.send(1_u64).expect("there is room");
        let (ends, found) = both(
            move || {
                other_tx.send(2_u64).expect("there is room");
                let _ = local.try_recv();
                (tx, other_tx)
            },
            || {
                let mut select = Select::new_biased();
                select.recv(&other_rx);
                select.recv(&mine);
                select.try_ready()
            },
        );
        assert!(found.is_ok());
        drop(ends);
    })
}

/// A select reserves room that another sender wants.
fn select_to_send() -> Exploration {
    explore(|| {
        let (tx, rx) = mpsc::bounded(1);
        let (local, other) = (tx.local(), tx.local());
        drop(tx);
        let (other, sent) = both(
            move || {
                let sent = other.try_send(1_u64).is_ok();
                (other, sent)
            },
            || {
                let mut select = Select::new_biased();
                select.send(&local);
                select.try_select().map(|selected| selected.send(&local, 2).expect("there is room"))
            },
        );
        assert!(other.1 != sent.is_ok(), "there is room for one");
        assert_eq!(rx.try_recv(), Ok(if other.1 { 1 } else { 2 }));
    })
}

/// A select waits for room while that of another select is reserved, then taken, and then free.
fn select_waits_for_reserved_room() -> Exploration {
    explore(|| {
        let (tx, rx) = mpsc::bounded(1);
        let (local, other) = (tx.local(), tx.local());
        drop(tx);
        let ((local, rx, received), ()) = both(
            move || {
                let mut select = Select::new_biased();
                select.send(&local);
                if let Ok(selected) = select.try_select() {
                    selected.send(&local, 1_u64).expect("the receiver is there");
                }
                let received = rx.recv();
                (local, rx, received)
            },
            || {
                let mut select = Select::new_biased();
                select.send(&other);
                select.select().send(&other, 2).expect("the receiver is there");
            },
        );
        assert!(received == Ok(2) || (received, rx.try_recv()) == (Ok(1), Ok(2)));
        drop((local, rx));
    })
}

/// Reserves room, and gives it back.
fn reserve_in_vain(tx: &spsc::Sender<u64>) {
    let mut select = Select::new_biased();
    select.send(tx);
    let Ok(selected) = select.try_select() else { return };
    let unwind = || {
        let _selected = selected;
        resume_unwind(Box::new(()));
    };
    catch_unwind(AssertUnwindSafe(unwind)).expect_err("it unwinds");
}

/// A channel with two senders, in boxes: loom's threads have small stacks.
#[inline(never)]
fn two_senders(capacity: usize) -> ([Box<spsc::Sender<u64>>; 2], Box<mpsc::Receiver<u64>>) {
    let (tx, rx) = mpsc::bounded(capacity);
    ([Box::new(tx.local()), Box::new(tx.local())], Box::new(rx))
}

/// One of two rooms is reserved, and then taken: another select always finds the other one.
fn select_while_a_reservation_ends() -> Exploration {
    explore(|| {
        let ([local, other], rx) = two_senders(2);
        let (local, found) = both(
            move || {
                let mut select = Select::new_biased();
                select.send(&local);
                let selected = select.try_select().expect("there is room");
                selected.send(&local, 1_u64).expect("the receiver is there");
                local
            },
            || {
                let mut select = Select::new_biased();
                select.send(&other);
                select.try_ready()
            },
        );
        assert!(found.is_ok());
        drop((local, rx));
    })
}

/// A reservation in one channel is given up before the other one is full: a select never finds both
/// full.
fn select_while_room_moves() -> Exploration {
    explore(|| {
        let ([one, my_one], one_rx) = two_senders(1);
        let ([other, my_other], other_rx) = two_senders(1);
        let (ends, found) = both(
            move || {
                reserve_in_vain(&one);
                other.try_send(1).expect("there is room");
                (one, other)
            },
            || {
                let mut select = Select::new_biased();
                select.send(&my_one);
                select.send(&my_other);
                select.try_ready()
            },
        );
        assert!(found.is_ok());
        drop((ends, one_rx, other_rx));
    })
}

/// A sender waits for room that a select has reserved and gives back.
fn reserved_room_is_given_back() -> Exploration {
    explore(|| {
        let ([local, other], rx) = two_senders(1);
        let (local, ()) = both(
            move || {
                reserve_in_vain(&local);
                local
            },
            || other.send(1).expect("the receiver is there"),
        );
        assert_eq!(rx.try_recv(), Ok(1));
        drop(local);
    })
}

/// A message that is sent into reserved room after the channel was closed is received.
fn permit_in_a_closed_channel() -> Exploration {
    explore(|| {
        let (tx, mut rx) = task::mpsc::channel(1);
        let permit = tx.clone().try_reserve_owned().expect("there is room");
        let (tx_of_permit, received) = both(
            move || permit.send(1_u64),
            || {
                rx.close();
                rx.blocking_recv()
            },
        );
        assert_eq!((received, rx.blocking_recv()), (Some(1), None));
        drop((tx_of_permit, tx));
    })
}

/// Reserved room is given back while the receiver of a closed channel waits for its message.
fn permit_is_dropped() -> Exploration {
    explore(|| {
        let (tx, mut rx) = task::mpsc::channel::<u64>(1);
        let permit = tx.clone().try_reserve_owned().expect("there is room");
        let (tx_of_permit, received) = both(
            move || permit.release(),
            || {
                rx.close();
                rx.blocking_recv()
            },
        );
        assert_eq!(received, None);
        drop((tx_of_permit, tx));
    })
}

/// A message that is sent into reserved room is dropped if there is no receiver.
fn permit_for_nobody() -> Exploration {
    explore(|| {
        let (tx, rx) = task::mpsc::channel(1);
        let permit = tx.clone().try_reserve_owned().expect("there is room");
        let dropped = Arc::new(AtomicU64::new(0));
        let message = Counted(dropped.clone());
        let (tx_of_permit, ()) = both(move || permit.send(message), || drop(rx));
        assert_eq!(dropped.load(Ordering::Acquire), 1);
        drop((tx_of_permit, tx));
    })
}

/// Room is reserved before the channel is closed, and then the receiver gets the message, or not at
/// all.
fn reserve_while_it_is_closed() -> Exploration {
    explore(|| {
        let (tx, mut rx) = task::mpsc::channel(1);
        let (sent, received) = both(
            move || match tx.try_reserve_owned() {
                Ok(permit) => (permit.send(1_u64), true),
                Err(error) => (error.into_inner(), false),
            },
            || {
                rx.close();
                rx.blocking_recv()
            },
        );
        let (tx, is_sent) = sent;
        assert_eq!(received, is_sent.then_some(1));
        drop(tx);
    })
}

/// A task looks for room to reserve while the receiver makes some.
fn task_waits_for_a_permit() -> Exploration {
    explore(|| {
        let (tx, mut rx) = task::mpsc::channel(1);
        tx.try_send(1_u64).expect("there is room");
        let receive = move || {
            assert_eq!(rx.blocking_recv(), Some(1));
            rx
        };
        let (mut rx, permit) = beside_a_task(receive, Box::pin(tx.reserve()));
        permit.expect("the receiver is there").send(2);
        assert_eq!(rx.blocking_recv(), Some(2));
    })
}

/// A task of an executor that has several.
struct Task<'a> {
    /// `None` when it is done.
    future: Option<Pin<Box<dyn Future<Output = ()> + 'a>>>,
    woken: Arc<Woken>,
}

impl<'a> Task<'a> {
    /// A task that is polled at first.
    fn new(future: impl Future<Output = ()> + 'a) -> Self {
        Self { future: Some(Box::pin(future)), woken: Arc::new(Woken(AtomicU64::new(1))) }
    }

    /// Polls the task if it was woken. Whether it was.
    fn run(&mut self) -> bool {
        // Acquire ↔ Release in `wake`: what was done before.
        let is_woken = self.woken.0.swap(0, Ordering::Acquire) == 1;
        if let Some(future) = self.future.as_mut().filter(|_| is_woken) {
            let waker = Waker::from(self.woken.clone());
            if future.as_mut().poll(&mut Context::from_waker(&waker)).is_ready() {
                self.future = None;
            }
        }
        is_woken
    }
}

/// Two tasks of one thread want all the room, which comes back bit by bit. With a half each, both
/// would wait for ever.
fn tasks_reserve_in_turns() -> Exploration {
    explore(|| {
        let (tx, mut rx) = task::mpsc::channel(2);
        (0..2).for_each(|n: u64| tx.try_send(n).expect("there is room"));
        let reserve = async || assert_eq!(tx.reserve_many(2).await.map(|all| all.len()), Ok(2));
        let mut tasks = [(); 2].map(|()| Task::new(reserve()));
        let receive = move || {
            (0..2).for_each(|n| assert_eq!(rx.blocking_recv(), Some(n)));
            rx
        };
        let mut run_each = || tasks.each_mut().map(Task::run).contains(&true);
        let (rx, _) = both(receive, &mut run_each);
        while run_each() {}
        assert!(tasks.iter().all(|task| task.future.is_none()), "they sleep, and there is room");
        drop((tasks, rx));
    })
}

/// A task waits until the receiver goes.
fn task_waits_until_it_is_closed() -> Exploration {
    explore(|| {
        let (tx, rx) = task::mpsc::channel::<u64>(1);
        let ((), ()) = beside_a_task(move || drop(rx), Box::pin(tx.closed()));
    })
}

/// A weak sender becomes a sender while the last sender goes.
fn weak_sender() -> Exploration {
    explore_shared(|| {
        let (tx, rx) = task::mpsc::channel(1);
        let (weak, mut rx) = (tx.downgrade(), rx);
        let ((), sent) = both(
            move || drop(tx),
            || weak.upgrade().map(|tx| tx.try_send(1_u64).expect("there is room")),
        );
        assert_eq!(rx.blocking_recv(), sent.map(|()| 1));
        assert!(weak.upgrade().is_none());
        drop((rx, weak));
    })
}

/// A message is dropped with the receiver, although there is a weak sender.
fn weak_sender_keeps_no_message() -> Exploration {
    explore_shared(|| {
        let (tx, rx) = task::mpsc::channel(1);
        let dropped = Arc::new(AtomicU64::new(0));
        let message = Counted(dropped.clone());
        let (weak, ()) = both(
            move || {
                let weak = tx.downgrade();
                let _ = tx.try_send(message);
                weak
            },
            || drop(rx),
        );
        assert_eq!(dropped.load(Ordering::Acquire), 1);
        drop(weak);
    })
}

/// The receiver of an only message closes the channel while it is sent: one side has the message.
fn one_message_while_it_is_closed() -> Exploration {
    explore(|| {
        let (tx, mut rx) = oneshot();
        assert!(Pin::new(&mut rx).poll(&mut Context::from_waker(Waker::noop())).is_pending());
        let (back, received) = both(
            move || tx.send(Ticket::of(0)).err().map(|error| error.0.number()),
            || {
                rx.close();
                rx.try_recv().ok().map(|message| message.number())
            },
        );
        assert_eq!([back, received].into_iter().flatten().collect::<Vec<_>>(), [0]);
    })
}

/// A task waits until the receiver of an only message goes.
fn one_message_waits_for_the_end() -> Exploration {
    explore(|| {
        let (mut tx, rx) = oneshot::<Ticket>();
        let ((), ()) = beside_a_task(move || drop(rx), Box::pin(tx.closed_async()));
    })
}

/// As above, and the task is polled with another waker meanwhile. The receiver has a waker, too.
fn one_message_moves_until_the_end() -> Exploration {
    explore(|| {
        let (mut tx, mut rx) = oneshot::<Ticket>();
        let mut noop = Context::from_waker(Waker::noop());
        assert!(tx.poll_closed(&mut noop).is_pending());
        assert!(Pin::new(&mut rx).poll(&mut noop).is_pending());
        let ((), ()) = beside_a_task(move || drop(rx), Box::pin(tx.closed_async()));
    })
}

/// The producer of an exact queue finds room for exactly as many items as were popped.
fn exact() -> Exploration {
    explore(|| {
        let (mut tx, mut rx) = <Exact as Queue<u64>>::with(Config::new(2)).expect("small");
        tx.try_push(1).expect("there is room");
        tx.try_push(2).expect("there is room");
        assert_eq!(tx.try_push(3), Err(TryPushError::Full(3)));
        let ((mut tx, pushed), items) = both(
            move || {
                let pushed = (3..5).take_while(|item| tx.try_push(*item).is_ok()).count();
                (tx, pushed)
            },
            || [rx.try_pop(), rx.try_pop()],
        );
        assert_eq!(items, [Ok(1), Ok(2)]);
        assert_eq!((tx.len(), rx.len()), (pushed, pushed));
        while tx.try_push(9).is_ok() {}
        assert_eq!(rx.len(), 2);
    })
}

/// The inner queue has room whenever the exact one has: it takes its slots back in time.
fn exact_transfer() -> Exploration {
    explore(|| {
        // One in a line.
        type Item = [u64; 9];
        let (mut tx, mut rx) = <Exact as Queue<Item>>::with(Config::new(1)).expect("small");
        both(
            move || {
                for n in 0..4 {
                    while tx.try_push([n; 9]).is_err() {
                        spin_loop();
                    }
                }
            },
            || {
                for n in 0..4 {
                    while rx.try_pop() != Ok([n; 9]) {
                        spin_loop();
                    }
                }
            },
        );
    })
}

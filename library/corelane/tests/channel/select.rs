//! `select!`, `Select`, and the channels of the clock.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread;
use std::time::{Duration, Instant};

use corelane::channel::{
    ReadyTimeoutError, Receiver, RecvError, RecvTimeoutError, Select, SelectTimeoutError, Sender,
    TryReadyError, TryRecvError, TrySelectError, TrySendError, after, at, bounded, never, select,
    select_biased, spsc, tick, unbounded,
};

const MOMENT: Duration = Duration::from_millis(15);

#[test]
fn arms_have_many_forms() {
    let ((tx, rx), (other_tx, other_rx)) = (bounded(4), unbounded::<String>());
    tx.send(1).unwrap();
    // Expressions, and a value.
    let value = select! {
        recv(rx) -> message => message.unwrap() + 1,
        recv(other_rx) -> _ => unreachable!(),
    };
    assert_eq!(value, 2);
    // Blocks, with and without commas.
    select! {
        recv(rx) -> _ => { unreachable!() }
        recv(other_rx) -> _ => { unreachable!() },
        default => {}
    }
    select! { default => () }
    select!(default() => {});
    let value = select! { recv(rx) -> _ => 1, default(MOMENT) => 2 };
    assert_eq!(value, 2);
    // A send, and a comma behind each argument.
    select! {
        send(tx, 5,) -> result => result.unwrap(),
        recv(other_rx,) -> _ => unreachable!(),
        default(MOMENT,) => unreachable!(),
    }
    // Patterns.
    other_tx.send("a".into()).unwrap();
    select! { recv(other_rx) -> mut text => { text.as_mut().unwrap().push('b'); assert_eq!(text.as_deref(), Ok("ab")) } }
    assert_eq!(rx.try_recv(), Ok(5));
}

#[test]
fn handles_are_expressions() {
    struct Ends {
        rx: Receiver<u8>,
    }
    let (txs, rxs): (Vec<Sender<u8>>, Vec<_>) = (0..2).map(|_| bounded(4)).unzip();
    let ends = Ends { rx: rxs[0].clone() };
    fn first(rxs: &[Receiver<u8>]) -> &Receiver<u8> {
        &rxs[0]
    }
    txs[0].send(1).unwrap();
    txs[0].send(2).unwrap();
    select! { recv(ends.rx) -> n => assert_eq!(n, Ok(1)), recv(&rxs[1]) -> _ => unreachable!() }
    select! { recv(first(&rxs)) -> n => assert_eq!(n, Ok(2)), recv(&&never::<()>()) -> _ => unreachable!() }
    // A channel that may be there.
    let perhaps = |wanted: bool| if wanted { after(MOMENT) } else { never() };
    select! {
        recv(perhaps(false)) -> _ => unreachable!(),
        recv(perhaps(true)) -> due => assert!(due.unwrap() <= Instant::now()),
    }
    select! { send(&txs[1], 3) -> r => r.unwrap(), recv(rxs[0]) -> _ => unreachable!() }
    assert_eq!(rxs[1].recv(), Ok(3));
    // Handles of one thread.
    let (tx, rx) = spsc::bounded(1);
    select! { send(tx, 4) -> r => r.unwrap(), recv(rx) -> _ => unreachable!() }
    select! { recv(rx) -> n => assert_eq!(n, Ok(4)), recv(rxs[0].local()) -> _ => unreachable!() }
}

#[test]
fn bodies_leave_the_loop_or_the_function() {
    fn sum(rx: &Receiver<u8>) -> Result<u8, RecvError> {
        let mut sum = 0;
        loop {
            select! {
                recv(rx) -> n => match n? { 0 => break, 1 => continue, 9 => return Ok(99), n => sum += n },
                default => return Err(RecvError),
            }
        }
        Ok(sum)
    }
    let (tx, rx) = unbounded();
    tx.send_all([3, 1, 4, 0, 9, 5]).unwrap();
    assert_eq!((sum(&rx), sum(&rx), sum(&rx)), (Ok(7), Ok(99), Err(RecvError)));
    drop(tx);
    assert_eq!(sum(&rx), Err(RecvError), "by the `?`");
}

#[test]
fn a_message_is_made_only_for_a_send_that_is_done() {
    let ((tx, rx), made) = (bounded(1), Cell::new(0));
    let make = || {
        made.set(made.get() + 1);
        made.get()
    };
    select! { send(tx, make()) -> r => r.unwrap(), default => unreachable!() }
    select! { send(tx, make()) -> _ => unreachable!(), default => {} }
    select! { send(tx, make()) -> _ => unreachable!(), recv(rx) -> n => assert_eq!(n, Ok(1)) }
    assert_eq!(made.get(), 1);
    // The expression may use the channel, but for the place that the select has found.
    select! { send(tx, { assert_eq!(tx.try_send(7), Err(TrySendError::Full(7))); 8 }) -> r => r.unwrap() }
    assert_eq!(rx.try_recv(), Ok(8));
    // Or panic.
    fn fails() -> u8 {
        panic!("as the test wants")
    }
    let panics = || select! { send(tx, fails()) -> _ => {} };
    assert!(catch_unwind(AssertUnwindSafe(panics)).is_err());
    let (other, begin) = (tx.clone(), Instant::now());
    thread::spawn(move || other.send(9).unwrap()).join().unwrap();
    assert!((rx.recv(), begin.elapsed() < Duration::from_secs(5)) == (Ok(9), true));
}

#[test]
fn chance_decides_and_biased_takes_the_first() {
    let ((tx, rx), (other_tx, other_rx)) = (unbounded(), unbounded());
    tx.send_all([(); 200]).unwrap();
    other_tx.send_all([(); 200]).unwrap();
    let mut count = [0; 3];
    for _ in 0..100 {
        select! { recv(rx) -> _ => count[0] += 1, recv(other_rx) -> _ => count[1] += 1, recv(rx) -> _ => count[2] += 1 }
    }
    assert!(count.iter().all(|&n| n > 10), "{count:?}");
    (0..50)
        .for_each(|_| select_biased! { recv(other_rx) -> _ => {} recv(rx) -> _ => unreachable!() });
    let mut select = Select::new_biased();
    select.recv(&rx);
    select.recv(&other_rx);
    for _ in 0..20 {
        let selected = select.select();
        assert_eq!((selected.index(), selected.recv(&rx)), (0, Ok(())));
    }
}

#[test]
fn a_select_waits_for_messages_room_and_the_end() {
    let ((tx, rx), (full, room)) = (bounded(1), bounded(1));
    full.send(0).unwrap();
    for (act, expected) in [(0, 1), (1, 2), (2, 3)] {
        let actor = thread::spawn({
            let (tx, room) = (tx.clone(), room.clone());
            let end = (act == 2).then(|| rx.clone());
            move || {
                thread::sleep(MOMENT);
                match act {
                    0 => tx.send(5).unwrap(),
                    1 => assert_eq!(room.recv(), Ok(0)),
                    _ => end.unwrap().close(),
                }
            }
        });
        let got = select! {
            recv(rx) -> message => if message.is_ok() { 1 } else { 3 },
            send(full, 0) -> result => { result.unwrap(); 2 }
        };
        assert_eq!(got, expected);
        actor.join().unwrap();
    }
    drop(room);
    select! { send(full, 1) -> result => assert!(result.is_err()), default => unreachable!("it is disconnected") }
    let begin = Instant::now();
    select! { recv(never::<u8>()) -> _ => unreachable!(), default(MOMENT) => assert!(begin.elapsed() >= MOMENT) }
}

/// An even number of threads that each want to meet any other one.
#[test]
fn threads_meet_in_a_rendezvous() {
    let (tx, rx) = bounded(0);
    let meet = |id: usize| {
        select! {
            recv(rx) -> other => Some(other.unwrap()),
            send(tx, id) -> result => result.ok().and(None),
        }
    };
    for _ in 0..50 {
        let met: Vec<_> = thread::scope(|s| {
            let threads: Vec<_> = (0..4).map(|id| s.spawn(move || (id, meet(id)))).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        let received: Vec<_> = met.iter().filter(|(_, other)| other.is_some()).collect();
        assert_eq!(received.len(), 2);
        assert!(received.iter().all(|(id, other)| *other != Some(*id)), "nobody meets itself");
    }
    select! { recv(rx) -> _ => unreachable!(), send(tx, 0) -> _ => unreachable!(), default(MOMENT) => {} }
}

/// Each thread sends to, or receives from, that one of two channels which is ready.
#[test]
fn selects_on_both_sides() {
    const EACH: u64 = 3000;
    for capacity in [0, 1, 64] {
        let (a, b) = (bounded(capacity), bounded(capacity));
        let sum: u64 = thread::scope(|s| {
            for id in 0..2 {
                let (a, b) = (a.0.clone(), b.0.clone());
                s.spawn(move || {
                    for n in id * EACH..(id + 1) * EACH {
                        select! { send(a, n) -> r => r.unwrap(), send(b, n) -> r => r.unwrap() }
                    }
                });
            }
            let receive = |a: Receiver<u64>, b: Receiver<u64>| {
                let (mut sum, mut select) = (0, Select::new());
                let (of_a, of_b) = (select.recv(&a), select.recv(&b));
                let mut open = 2;
                while open > 0 {
                    let selected = select.select();
                    let index = selected.index();
                    match selected.recv(if index == of_a { &a } else { &b }) {
                        Ok(n) => sum += n,
                        Err(RecvError) => {
                            select.remove(index);
                            open -= 1;
                        }
                    }
                }
                assert!(of_a < of_b);
                sum
            };
            let receivers = [(); 2].map(|()| {
                let (a, b) = (a.1.clone(), b.1.clone());
                s.spawn(move || receive(a, b))
            });
            drop((a, b));
            receivers.into_iter().map(|receiver| receiver.join().unwrap()).sum()
        });
        assert_eq!(sum, EACH * (2 * EACH - 1), "capacity {capacity}");
    }
}

#[test]
fn a_select_of_the_calls() {
    let ((tx, rx), (other_tx, other_rx)) = (bounded::<u8>(1), bounded::<u8>(1));
    let mut select = Select::new();
    let (first, second) = (select.recv(&rx), select.recv(&other_rx));
    let begin = Instant::now();
    assert_eq!(select.try_select().err(), Some(TrySelectError));
    assert_eq!(select.select_timeout(MOMENT).err(), Some(SelectTimeoutError));
    assert_eq!(select.select_deadline(begin).err(), Some(SelectTimeoutError));
    assert_eq!(select.try_ready(), Err(TryReadyError));
    assert_eq!(select.ready_timeout(MOMENT), Err(ReadyTimeoutError));
    assert_eq!(select.ready_deadline(begin), Err(ReadyTimeoutError));
    assert!(begin.elapsed() >= 2 * MOMENT);
    let send = select.send(&tx);
    assert_eq!((first, second, send), (0, 1, 2));
    assert_eq!(select.ready(), send);
    select.select().send(&tx, 7).unwrap();
    assert_eq!((select.try_ready(), select.ready_timeout(MOMENT)), (Ok(first), Ok(first)));
    assert_eq!(rx.try_recv(), Ok(7), "`ready` takes nothing");
    select.remove(send);
    drop(other_tx);
    let selected = select.select_timeout(Duration::MAX).unwrap();
    assert_eq!((selected.index(), selected.recv(&other_rx)), (second, Err(RecvError)));
    select.remove(second);
    assert_eq!(select.try_select().err(), Some(TrySelectError));
    assert_eq!(select.recv(&other_rx), 3, "no index is used twice");

    let texts = [
        TrySelectError.to_string(),
        SelectTimeoutError.to_string(),
        TryReadyError.to_string(),
        ReadyTimeoutError.to_string(),
    ];
    assert_eq!(texts[..2], ["all operations in select would block", "timed out waiting on select"]);
    let ready = ["no operation is ready", "timed out waiting for an operation to be ready"];
    assert_eq!(texts[2..], ready);
}

#[test]
fn misuse_of_select_panics() {
    fn panics<R>(f: impl FnOnce() -> R) -> bool {
        catch_unwind(AssertUnwindSafe(|| drop(f()))).is_err()
    }
    let ((tx, rx), (_, other)) = (bounded(2), bounded::<u8>(2));
    let mut select = Select::new();
    assert!(panics(|| Select::new().select()) && panics(|| Select::new().ready()));
    assert!(Select::new().select_timeout(MOMENT).is_err());
    assert!(panics(|| select.remove(0)));
    select.send(&tx);
    assert!(panics(|| drop(select.select())), "not completed");
    assert!(panics(|| select.select().recv(&other)), "completed by another handle");
    assert!(panics(|| select.select().send(&tx.clone(), 1)), "completed by a clone");
    // Nothing is reserved any more.
    thread::scope(|s| drop(s.spawn(|| tx.send_all([1, 2]))));
    assert!(rx.try_iter().eq([1, 2]));
}

#[test]
fn after_and_at_give_one_message() {
    let begin = Instant::now();
    let rx = after(10 * MOMENT);
    let clone = rx.clone();
    assert!(rx.same_channel(&clone) && rx.capacity() == Some(1) && rx.is_empty());
    assert_eq!(rx.try_recv(), Err(TryRecvError::Empty));
    assert_eq!(rx.recv_timeout(MOMENT / 5), Err(RecvTimeoutError::Timeout));
    let due = rx.recv().unwrap();
    assert!(due >= begin + 10 * MOMENT && due <= Instant::now());
    assert_eq!(clone.recv_timeout(MOMENT), Err(RecvTimeoutError::Timeout), "one for both");
    assert!(!rx.is_closed());

    let rx = at(begin);
    assert_eq!((rx.len(), rx.is_full(), rx.try_recv()), (1, true, Ok(begin)));
    assert_eq!(rx.try_recv(), Err(TryRecvError::Empty));
    assert_eq!(after(Duration::MAX).recv_timeout(MOMENT), Err(RecvTimeoutError::Timeout));
    assert!(after(Duration::ZERO).try_recv().is_ok());
}

#[test]
fn a_tick_that_nobody_takes_is_dropped() {
    let begin = Instant::now();
    let period = 6 * MOMENT;
    let rx = tick(period);
    let first = rx.recv().unwrap();
    assert!(first >= begin + period);
    assert!(rx.recv().unwrap() >= first + period);
    thread::sleep(3 * period);
    assert!(rx.try_recv().is_ok(), "one is there");
    assert_eq!(rx.try_recv(), Err(TryRecvError::Empty), "the others are not");
    assert_eq!(rx.iter().take(2).count(), 2);
}

#[test]
fn a_stopwatch() {
    let (stop, stopped) = bounded::<()>(0);
    let (ticks, begin) = (tick(MOMENT), Instant::now());
    let count = thread::scope(|s| {
        let watch = s.spawn(|| {
            let (mut count, last) = (0, after(100 * MOMENT));
            loop {
                select! {
                    recv(ticks) -> _ => count += 1,
                    recv(stopped) -> _ => break count,
                    recv(last) -> _ => unreachable!("it was stopped"),
                }
            }
        });
        thread::sleep(5 * MOMENT);
        drop(stop);
        watch.join().unwrap()
    });
    assert!(count >= 1 && count <= begin.elapsed().as_millis() / MOMENT.as_millis());
}

#[test]
fn never_has_no_message() {
    let rx = never::<u8>();
    assert_eq!((rx.capacity(), rx.len(), rx.is_full()), (Some(0), 0, true));
    assert_eq!(rx.try_recv(), Err(TryRecvError::Empty));
    assert_eq!(rx.recv_timeout(MOMENT), Err(RecvTimeoutError::Timeout));
    assert!(!rx.is_closed());
}

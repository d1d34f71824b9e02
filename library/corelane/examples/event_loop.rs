//! One thread serves five channels: faults, temperatures, turns of a wheel, a clock and the end.
//!
//! The thread sleeps until one of them has a message. The first arm that is ready counts most: a
//! fault comes before all else, and the end comes last, when everything else is done.

use std::thread;
use std::time::Duration;

use corelane::channel::{bounded, select_biased, tick, unbounded};

fn main() {
    let (report_fault, fault) = unbounded::<&str>();
    let (measure, temperature) = bounded::<i32>(16);
    let (turn, turned) = bounded::<u64>(16);
    let (stop, stopped) = bounded::<()>(0);
    let clock = tick(Duration::from_millis(5));

    thread::scope(|s| {
        let machine = s.spawn(|| {
            let (mut faults, mut hottest, mut turns, mut ticks) = (0, i32::MIN, 0, 0);
            loop {
                select_biased! {
                    recv(fault) -> fault => {
                        println!("fault: {}", fault.expect("`report_fault` is there"));
                        faults += 1;
                    }
                    recv(temperature) -> degrees => hottest = hottest.max(degrees.expect("`measure` is there")),
                    recv(turned) -> n => turns += n.expect("`turn` is there"),
                    recv(clock) -> _ => ticks += 1,
                    recv(stopped) -> _ => break (faults, hottest, turns, ticks),
                }
            }
        });
        let sensors = [
            s.spawn(|| measure.send_all((0..1000).map(|n| n % 90)).is_ok()),
            s.spawn(|| turn.send_all([1; 1_000]).is_ok()),
            s.spawn(|| report_fault.send("the door is open").is_ok()),
        ];
        assert!(sensors.into_iter().all(|sensor| sensor.join().expect("it only sends")));
        thread::sleep(Duration::from_millis(20));
        drop(stop);
        let (faults, hottest, turns, ticks) = machine.join().expect("the loop does not panic");
        println!("{faults} fault, {hottest} degrees, {turns} turns, {ticks} ticks");
        assert_eq!((faults, hottest, turns), (1, 89, 1_000));
        assert!(ticks > 0);
    });
}

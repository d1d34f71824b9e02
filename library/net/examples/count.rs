//! Sends numbers to another program, which counts them: count listen ADDRESS, and count connect
//! ADDRESS N.

use std::error::Error;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use corelane_net::Node;

mod arguments;

fn main() -> ExitCode {
    let usage = "count listen ADDRESS, or count connect ADDRESS N";
    arguments::run(usage, |arguments| match arguments {
        ["listen", address] => Some(receive(address)),
        ["connect", address, n] => Some(send(address, n.parse().ok()?)),
        _ => None,
    })
}

fn receive(address: &str) -> Result<(), Box<dyn Error>> {
    let node = Node::listen(address)?;
    let rx = node.lane::<u64>("numbers").gives_up_after(Duration::MAX).receiver()?;
    let (mut last, mut numbers, mut jumps, mut begin) = (None, 0, 0, Instant::now());
    for number in rx.iter() {
        match last {
            None => begin = Instant::now(),
            Some(last) if number != last + 1 => {
                println!("{number} after {last}: another sender, or one that was started anew");
                jumps += 1;
            }
            Some(_) => {}
        }
        (last, numbers) = (Some(number), numbers + 1);
    }
    let ns = begin.elapsed().as_nanos() / numbers.max(1);
    println!("{numbers} numbers, {jumps} of them out of order, {ns} ns each");
    Ok(rx.ended()?)
}

fn send(address: &str, n: u64) -> Result<(), Box<dyn Error>> {
    let node = Node::connect(address)?;
    let tx = node.lane::<u64>("numbers").sender()?;
    for number in 0..n {
        tx.send(number)?;
    }
    Ok(tx.finish(Duration::from_secs(60))?)
}

//! Sends numbers to another program, which counts them: count listen ADDRESS, and count connect
//! ADDRESS N.

use std::error::Error;
use std::time::{Duration, Instant};

use corelane_net::Node;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match &arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["listen", address] => receive(&Node::listen(address)?),
        ["connect", address, n] => send(&Node::connect(address)?, n.parse()?),
        _ => Err("count listen ADDRESS, or count connect ADDRESS N".into()),
    }
}

fn receive(node: &Node) -> Result<(), Box<dyn Error>> {
    let rx = node.lane::<u64>("numbers").gives_up_after(Duration::MAX).receiver()?;
    let first = rx.recv()?;
    let begin = Instant::now();
    let numbers = 1 + rx.iter().zip(first + 1..).filter(|(number, next)| number == next).count();
    let ns = begin.elapsed().as_nanos() / numbers as u128;
    println!("{numbers} numbers in order, {ns} ns each");
    Ok(())
}

fn send(node: &Node, n: u64) -> Result<(), Box<dyn Error>> {
    let tx = node.lane::<u64>("numbers").sender()?;
    for number in 0..n {
        tx.send(number)?;
    }
    Ok(tx.finish(Duration::from_secs(60))?)
}

//! The parse stage.

use corelane::{Consumer, Producer, wait};

use super::Settings;
use super::outlet::Outlet;
use crate::flow::Shards;
use crate::packet::Parcel;
use crate::parse::{Parser, Tally};

/// Parses packets, and sends each one to the thread that has its flow.
pub(super) fn parse<C, P>(
    mut rx: wait::Consumer<C>,
    mut outlets: Vec<Outlet<'_, P>>,
    settings: &Settings,
) -> Tally
where
    C: Consumer<Item = Parcel>,
    P: Producer<Item = Parcel>,
{
    let (mut parser, mut batch, mut parsed) = (Parser::default(), Vec::new(), Vec::new());
    let mut split: Vec<Vec<_>> = outlets.iter().map(|_| Vec::new()).collect();
    loop {
        let is_end = rx.pop_many(&mut batch, settings.batch) == 0;
        batch.drain(..).for_each(|packet| parser.take(packet, &mut parsed));
        if is_end {
            parser.finish(&mut parsed);
        }
        for packet in parsed.drain(..) {
            split[Shards::thread_of(&packet, outlets.len())].push(packet);
        }
        for (outlet, packets) in outlets.iter_mut().zip(&mut split) {
            if !packets.is_empty() {
                outlet.send(packets);
            }
        }
        if is_end {
            return parser.tally;
        }
    }
}

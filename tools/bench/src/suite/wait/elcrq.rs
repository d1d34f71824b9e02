//! `elcrq` and `elcrq-spin`, as in paper 5: LCRQ under an eventcount. Here they are two strategies of one entry.

use std::marker::PhantomData;
use std::num::NonZeroU64;

use corelane::rings::lcrq;
use corelane::{Config, Consumer, Info, Producer, Queue, wait};

use super::handles::{Channel, Ends, Receiver, Sender, Sleep, Sleeps, SpinsThenSleeps, copies};
use super::{ChannelKernel, Channels};
use crate::catalogue::Entry;
use crate::kinds::TeamSize;
use crate::suite::wait::{Sharing, Strategy};

/// Items are tokens: numbers from 1 on.
struct Elcrq<S>(PhantomData<S>);

/// A handle, which makes tokens of numbers.
struct Tokens<H>(H);

impl<S: Sleep> Channel for Elcrq<S> {
    const STRATEGY: Strategy = S::STRATEGY;
    const HANDLES: Sharing = Sharing::Exclusive;

    type Tx = Tokens<wait::Producer<lcrq::Producer<NonZeroU64>>>;
    type Rx = Tokens<wait::Consumer<lcrq::Consumer<NonZeroU64>>>;

    fn open(capacity: usize, size: TeamSize) -> Result<Ends<Self::Tx, Self::Rx>, String> {
        let queue = lcrq::queue_with(Config::new(capacity)).map_err(|error| error.to_string())?;
        let (tx, rx) = wait::pair(queue);
        let (tx, rx) = (tx.strategy(S::HOW), rx.strategy(S::HOW));
        let txs = copies(Tokens(tx), size.producers, |tx| tx.0.try_clone().map(Tokens))?;
        Ok((txs, copies(Tokens(rx), size.consumers, |rx| rx.0.try_clone().map(Tokens))?))
    }
}

impl Sender for Tokens<wait::Producer<lcrq::Producer<NonZeroU64>>> {
    #[inline(always)]
    fn put(&mut self, item: u64) -> bool {
        NonZeroU64::new(item + 1).is_some_and(|token| self.0.push(token).is_ok())
    }
}

impl Receiver for Tokens<wait::Consumer<lcrq::Consumer<NonZeroU64>>> {
    #[inline(always)]
    fn get(&mut self) -> Option<u64> {
        self.0.pop().map(|token| token.get() - 1)
    }
}

pub(super) fn entry() -> Channels {
    let channels = vec![
        ChannelKernel::blocking::<Elcrq<Sleeps>>(),
        ChannelKernel::blocking::<Elcrq<SpinsThenSleeps>>(),
    ];
    let info = <lcrq::Lcrq as Queue<NonZeroU64>>::INFO;
    let info =
        Info { id: "elcrq", name: "LCRQ with an eventcount", paper: "Mishra 2019, §V", ..info };
    Entry::ours(info, "tokens").with(channels)
}

//! `elcrq` and `elcrq-spin`, as in paper 5: LCRQ under an eventcount. Here they are two strategies
//! of one entry.

use std::num::NonZeroU64;

use corelane::rings::lcrq;
use corelane::{Config, Consumer, Info, Producer, Queue, wait};

use super::handles::{Channel, Ends, Receiver, Sender, Wanted, copies};
use super::{ChannelKernel, Channels};
use crate::catalogue::Entry;
use crate::suite::wait::{Sharing, Strategy};

/// Items are tokens: numbers from 1 on.
struct Elcrq;

/// A handle, which makes tokens of numbers.
struct Tokens<H>(H);

impl Channel for Elcrq {
    const STRATEGIES: &'static [Strategy] = &[Strategy::Sleep, Strategy::SpinThenSleep];
    const HANDLES: Sharing = Sharing::Exclusive;

    type Tx = Tokens<wait::Producer<lcrq::Producer<NonZeroU64>>>;
    type Rx = Tokens<wait::Consumer<lcrq::Consumer<NonZeroU64>>>;

    fn open(of: Wanted) -> Result<Ends<Self::Tx, Self::Rx>, String> {
        let config = Config::new(of.capacity);
        let (tx, rx) = of.pair(lcrq::queue_with(config).map_err(|error| error.to_string())?);
        let txs = copies(Tokens(tx), of.size.producers, |tx| tx.0.try_clone().map(Tokens))?;
        Ok((txs, copies(Tokens(rx), of.size.consumers, |rx| rx.0.try_clone().map(Tokens))?))
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
    let info = <lcrq::Lcrq as Queue<NonZeroU64>>::INFO;
    let info =
        Info { id: "elcrq", name: "LCRQ with an eventcount", paper: "Mishra 2019, §V", ..info };
    Entry::ours(info, "tokens").with(ChannelKernel::blocking::<Elcrq>().collect())
}

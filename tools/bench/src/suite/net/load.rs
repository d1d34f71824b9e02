//! How many items per second a latency is measured at.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use super::Cell;
use super::engines;
use super::setting::{FLOOR, Guarantee, NetSetting, Offered, OfferedOf};
use crate::params::Length;

/// The first stream of each lane and peer in this run, in items per second, by the size of an item.
static STREAMS: Mutex<BTreeMap<(&str, usize), f64>> = Mutex::new(BTreeMap::new());

/// Length of a stream that was not measured before.
const SHORT: Duration = Duration::from_millis(200);

/// Notes what a stream has carried. The first one counts, so that all rounds have the same load.
pub(super) fn note(setting: &NetSetting, queue: &'static str, per_s: f64) {
    let mut streams = STREAMS.lock().unwrap_or_else(PoisonError::into_inner);
    streams.entry((queue, setting.record_bytes)).or_insert(per_s);
}

impl Cell {
    /// Half of what plain TCP carries, the same for all; or half of what this one itself carries,
    /// if that is less.
    pub(super) fn offered(&self) -> Result<Offered, String> {
        if let Some(per_s) = self.load {
            return Ok(Offered { per_s, of: OfferedOf::Given });
        }
        let floor = engines::entries().iter().find(|one| one.entry.info.id == FLOOR);
        let floor = Self { one: floor.expect("it is an entry"), ..self.clone() };
        let tcp = floor.carries()? / 2.0;
        // A sender that drops items carries any load.
        let own = match self.setting.guarantee {
            Guarantee::Latest => f64::INFINITY,
            _ => self.carries()? / 2.0,
        };
        Ok(match own < tcp {
            true => Offered { per_s: own, of: OfferedOf::HalfOfItsOwn },
            false => Offered { per_s: tcp, of: OfferedOf::HalfOfTcp },
        })
    }

    /// Items per second of a stream.
    fn carries(&self) -> Result<f64, String> {
        let known = || {
            let streams = STREAMS.lock().unwrap_or_else(PoisonError::into_inner);
            streams.get(&(self.queue(), self.setting.record_bytes)).copied()
        };
        if known().is_none() {
            self.stream(Length::Time(SHORT))?;
        }
        known().ok_or_else(|| "the stream was interrupted".into())
    }
}

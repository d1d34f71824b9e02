//! Pauses after each call in `ping-pong`.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use corelane_report::duration;
use serde::{Deserialize, Serialize};

/// The shortest and the longest pause, in nanoseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Pause(pub(crate) u64, pub(crate) u64);

impl Pause {
    /// The longest pause that is allowed. A thread computes in pauses, so nothing interrupts it.
    const MOST: Duration = Duration::from_secs(1);

    pub(crate) fn is_none(&self) -> bool {
        *self == Self::default()
    }
}

impl FromStr for Pause {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "0" {
            return Ok(Self::default());
        }
        let ns = |text| Some(duration(text).ok()?.as_nanos() as u64);
        let bounds = text.split_once("..").and_then(|(from, to)| Some(Self(ns(from)?, ns(to)?)));
        let is_possible =
            |&Self(from, to): &Self| from <= to && u128::from(to) <= Self::MOST.as_nanos();
        bounds
            .filter(is_possible)
            .ok_or_else(|| "give 0, or the shortest and the longest, such as 1us..20us".into())
    }
}

impl fmt::Display for Pause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let us = |ns: u64| ns as f64 / 1e3;
        write!(f, "{} to {} us", us(self.0), us(self.1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_have_two_bounds_or_are_none() {
        let pause: Pause = "1us..20us".parse().expect("two bounds");
        assert_eq!((pause, pause.to_string()), (Pause(1000, 20_000), "1 to 20 us".into()));
        assert!("0".parse::<Pause>().is_ok_and(|pause| pause.is_none()));
        for wrong in ["", "1", "1us", "20us..1us", "0..1us", "1us..", "1us..2s", "1us..2us..3us"] {
            assert!(wrong.parse::<Pause>().is_err(), "{wrong}");
        }
    }
}

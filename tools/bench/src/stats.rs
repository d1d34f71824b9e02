//! Medians and quartiles over rounds, separately for near and far.

use corelane_report::short;
use serde::{Deserialize, Serialize};

/// Whether two cores were close in a round.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Group {
    /// The cores share a cache.
    Near,
    /// The cores don't share a cache.
    Far,
}

impl Group {
    /// Both groups, in the order in which they are shown.
    pub const ALL: [Self; 2] = [Self::Near, Self::Far];

    /// Default of the longest `line_rtt`, in nanoseconds, that counts as near.
    ///
    /// Two cores under one last-level cache bounce a line in 60 to 180 ns, two cores of different
    /// dies or sockets in 250 to 600 ns. 220 lies in the gap.
    pub const FAR_ABOVE_NS: f64 = 220.0;

    /// The group of a round that measured `line_rtt_ns`.
    pub fn of(line_rtt_ns: f64, far_above_ns: f64) -> Self {
        if line_rtt_ns > far_above_ns { Self::Far } else { Self::Near }
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Near => "near",
            Self::Far => "far",
        }
    }
}

/// Median and quartiles.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Quartiles {
    /// Number of values.
    pub n: usize,
    /// A quarter of the values is at most this.
    pub p25: f64,
    /// Half of the values is at most this.
    pub median: f64,
    /// Three quarters of the values are at most this.
    pub p75: f64,
}

impl Quartiles {
    /// The quartiles, for people.
    pub fn spread(&self) -> String {
        format!("{}–{}", short(self.p25), short(self.p75))
    }

    /// The quartiles of `values`, unless there are none.
    pub fn of(values: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut values: Vec<f64> = values.into_iter().collect();
        values.sort_by(f64::total_cmp);
        let at = |share| quantile(&values, share);
        Some(Self { n: values.len(), p25: at(0.25)?, median: at(0.5)?, p75: at(0.75)? })
    }
}

/// The median of `values`; not a number if there are none.
pub(crate) fn median(values: impl IntoIterator<Item = f64>) -> f64 {
    Quartiles::of(values).map_or(f64::NAN, |quartiles| quartiles.median)
}

/// The value below which `share` of the sorted values lie, interpolated between neighbours.
fn quantile(sorted: &[f64], share: f64) -> Option<f64> {
    let position = share * (sorted.len().checked_sub(1)? as f64);
    let (below, above) = (sorted[position.floor() as usize], sorted[position.ceil() as usize]);
    Some(below + (above - below) * position.fract())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quartiles_interpolate() {
        let quartiles = |n, p25, median, p75| Some(Quartiles { n, p25, median, p75 });
        assert_eq!(Quartiles::of([4.0, 1.0, 3.0, 2.0]), quartiles(4, 1.75, 2.5, 3.25));
        assert_eq!(Quartiles::of([7.0]), quartiles(1, 7.0, 7.0, 7.0));
        assert_eq!(Quartiles::of([]), None);
    }

    #[test]
    fn the_cut_itself_is_near() {
        assert_eq!(Group::of(220.0, 220.0), Group::Near);
        assert_eq!(Group::of(220.1, 220.0), Group::Far);
    }
}

//! Histories: tests of the monitor, and its checks of real queues.

mod broadcast;
mod broken;
mod disorder;
mod faulty;
mod made;
mod overwriting;
mod patterns;
mod queues;
mod relaxed;
mod relaxed_tail;
mod search;
mod several;

/// `n`, scaled by `CORELANE_STRESS` as other stress tests are.
fn scaled(n: u64) -> u64 {
    let scale = std::env::var("CORELANE_STRESS").map_or(1.0, |text| text.parse().unwrap());
    (n as f64 * scale) as u64
}

//! Threads of a switch and its clients.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use vswitch_core::clients::{Client, Tally};
use vswitch_core::{Counters, Options, Switch};

use super::SwitchSetting;
use super::wire::{Side, Wire};
use crate::kinds::Test;
use crate::params::{Length, Trial};
use crate::sample::Sample;
use crate::threads::{self, Task, Wait};

/// Turns between two looks at the clock.
const TURNS: u32 = 16;

/// Nanoseconds per packet that the switch has pulled.
pub(super) fn measure(
    trial: &Trial<'_>,
    wire: Wire,
    test: Test,
    setting: SwitchSetting,
) -> Result<Sample, String> {
    let SwitchSetting { clients, batch, switch_batch } = setting;
    let (mut switch, mut counters) = (Switch::new(Options::of(switch_batch)), Vec::new());
    // The first core is the switch's.
    let cores = trial.cores.get(1..).filter(|cores| !cores.is_empty()).unwrap_or(trial.cores);
    let mut teams: Vec<Vec<_>> = (0..cores.len().min(clients as usize)).map(|_| vec![]).collect();
    for (number, team) in (0..clients).zip((0..teams.len()).cycle()) {
        let [of_switch, of_client] =
            wire(trial.params.config()).expect("tried before the first round");
        counters.push(switch.attach(of_switch).1);
        let mut client = Client::new(of_client, number, clients, batch);
        client.introduce();
        teams[team].push(client);
    }
    switch.turn(0); // From now on it knows where all clients are.
    let (over, wait) = (&AtomicBool::new(false), trial.params.wait);
    let mut value = 0.0;
    let mut tasks: Vec<Task<'_, ()>> = Vec::new();
    tasks.push((
        Some(trial.cores[0]),
        Box::new(|| {
            value = forward(&mut switch, &counters, trial.length, wait);
            over.store(true, Ordering::Relaxed);
        }),
    ));
    for (team, &core) in teams.iter_mut().zip(cores) {
        let run = || take_turns(team, test, over, wait);
        tasks.push((Some(core), Box::new(run)));
    }
    threads::all(tasks, &|| ());
    let tallies: Vec<_> = teams.iter().flatten().map(Client::tally).collect();
    check(test, &tallies, &counters).map(|lost| Sample { lost, ..Sample::of(value) })
}

/// The switch: a warm-up, and the measured part.
fn forward(
    switch: &mut Switch<Side>,
    counters: &[Arc<Counters>],
    length: Length,
    wait: Wait,
) -> f64 {
    let pulled = || counters.iter().map(|port| port.sent.get()).sum::<u64>();
    let mut per_packet = 0.0;
    for part in length.parts() {
        let (start, before, mut failed) = (Instant::now(), pulled(), 0);
        while !part.is_over(pulled() - before, start) {
            for _ in 0..TURNS {
                // Addresses don't age: all have come when the first packet moves.
                if switch.turn(0) == 0 {
                    wait.pause(&mut failed);
                }
            }
        }
        let packets = (pulled() - before).max(1);
        per_packet = start.elapsed().as_nanos() as f64 / packets as f64;
    }
    per_packet
}

/// The clients of a core.
fn take_turns(team: &mut [Client<Side>], test: Test, over: &AtomicBool, wait: Wait) {
    let mut failed = 0;
    while !over.load(Ordering::Relaxed) {
        let mut moved = 0;
        for client in &mut *team {
            moved += match test {
                Test::Flooding => client.flood(),
                _ => client.exchange(),
            };
        }
        if moved == 0 {
            wait.pause(&mut failed);
        }
    }
}

/// The share of packets that the switch dropped. The error says what the queue did wrong.
fn check(test: Test, tallies: &[Tally], counters: &[Arc<Counters>]) -> Result<Option<f64>, String> {
    let sum = |of: fn(&Tally) -> u64| tallies.iter().map(of).sum::<u64>();
    let dropped = counters.iter().map(|port| port.dropped.get()).sum::<u64>();
    let pulled = counters.iter().map(|port| port.sent.get()).sum::<u64>();
    let wrong = sum(|tally| tally.reordered + tally.misdirected);
    let lost = sum(|tally| tally.lost);
    if wrong > 0 || lost > dropped {
        return Err(format!(
            "{wrong} packets came out of order or to another client, and {lost} never, of which the switch dropped \
             {dropped}"
        ));
    }
    // With requests and responses no client ever has no room.
    match (test, dropped) {
        (Test::Flooding, _) => Ok(Some(dropped as f64 / pulled.max(1) as f64)),
        (_, 0) => Ok(None),
        _ => Err(format!("the switch dropped {dropped} packets, which a client has room for")),
    }
}

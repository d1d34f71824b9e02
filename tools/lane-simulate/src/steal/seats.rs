//! The seats of owners, thieves and pools: their cores.

use coherence::Topology;
use corelane_report::{Failure, name};

use super::cell::Setting;
use crate::options::ThiefDistance;

impl Setting {
    /// The cores of the threads, all of which `machine` has.
    pub(super) fn cores(self, machine: &str, topology: &Topology) -> Result<Vec<usize>, Failure> {
        match self {
            Self::Stolen { distance, thieves, .. } => {
                let seats = of_thieves(topology, distance);
                let most = seats.len();
                if thieves > most {
                    let distance = name(&distance);
                    return Err(Failure::Usage(format!(
                        "{machine} has {most} cores at --distance {distance}, and {thieves} thieves need as many; \
                         choose another --distance, fewer --thieves, or another --machine"
                    )));
                }
                Ok([0].into_iter().chain(seats.take(thieves)).collect())
            }
            Self::Pool { threads: 0 | 1, .. } => {
                Err(Failure::Usage("the threads of a pool steal from each other; choose 2 or more --threads".into()))
            }
            Self::Pool { threads, .. } => of_pool(topology, threads).ok_or_else(|| {
                Failure::Usage(format!(
                    "{machine} has no {threads} cores for a pool, as many on each socket; choose fewer --threads, or \
                     another --machine"
                ))
            }),
        }
    }
}

/// The cores at a distance from core 0.
fn of_thieves(topology: &Topology, distance: ThiefDistance) -> std::ops::Range<usize> {
    let l3 = topology.cores_per_l3;
    let socket = l3 * topology.l3_per_socket;
    match distance {
        ThiefDistance::SameL3 => 1..l3,
        ThiefDistance::SameSocket => l3..socket,
        ThiefDistance::OtherSocket => socket..topology.physical_cores(),
    }
}

/// The cores of a pool: shared out between the sockets, and in a socket between two L3 caches if it
/// has several.
fn of_pool(topology: &Topology, threads: usize) -> Option<Vec<usize>> {
    let sockets = topology.sockets.min(threads);
    let groups = topology.l3_per_socket.min(2);
    let socket_cores = topology.l3_per_socket * topology.cores_per_l3;
    let mut cores = Vec::new();
    for (socket, threads) in share_out(threads, sockets).enumerate() {
        for (group, threads) in share_out(threads, groups).enumerate() {
            if threads > topology.cores_per_l3 {
                return None;
            }
            let first = socket * socket_cores + group * topology.cores_per_l3;
            cores.extend(first..first + threads);
        }
    }
    Some(cores)
}

/// Parts of `n` that differ by 1 at most, the larger ones first.
fn share_out(n: usize, parts: usize) -> impl Iterator<Item = usize> {
    (0..parts).map(move |part| n / parts + usize::from(part < n % parts))
}

#[cfg(test)]
mod tests {
    use coherence::Machine;

    use super::*;

    #[test]
    fn a_pool_sits_in_two_sockets_and_four_l3_groups() {
        let pool = |machine: Machine, threads| of_pool(&machine.topology, threads);
        assert_eq!(pool(Machine::arm_96t(), 8), Some(vec![0, 1, 4, 5, 48, 49, 52, 53]));
        assert_eq!(pool(Machine::x86_88t(), 8), Some(vec![0, 1, 2, 3, 22, 23, 24, 25]));
        assert_eq!(pool(Machine::i7(), 3), Some(vec![0, 1, 2]));
        assert_eq!(pool(Machine::arm_96t(), 3), Some(vec![0, 4, 48]));
        assert_eq!(pool(Machine::i7(), 5), None);
        assert_eq!(pool(Machine::arm_96t(), 17), None);
    }

    #[test]
    fn thieves_are_as_far_as_asked_for() {
        let first = |machine: Machine, distance| of_thieves(&machine.topology, distance).next();
        let all = [ThiefDistance::SameL3, ThiefDistance::SameSocket, ThiefDistance::OtherSocket];
        assert_eq!(all.map(|far| first(Machine::arm_96t(), far)), [Some(1), Some(4), Some(48)]);
        assert_eq!(all.map(|far| first(Machine::x86_88t(), far)), [Some(1), None, Some(22)]);
        assert_eq!(all.map(|far| first(Machine::i7(), far)), [Some(1), None, None]);
    }
}

//! The machines that are simulated.

use std::path::Path;

use coherence::{Machine, Time};
use corelane_bench::{Calibration, Group, cores};
use corelane_report::{Failure, short};
use corelane_simulate::Measured;

/// Name of the machine on which the program runs.
const CALIBRATED: &str = "calibrated";

/// A machine, and its description.
#[derive(Debug, Clone)]
pub(crate) struct Target {
    pub(crate) machine: Machine,
    /// The time of a push or a pop besides its accesses.
    pub(crate) call: Time,
    pub(crate) told: Option<String>,
}

impl Target {
    pub(crate) fn find(name: &str) -> Result<Self, Failure> {
        let presets = Machine::presets();
        if let Some((_, machine)) = presets.iter().find(|(preset, _)| *preset == name) {
            return Ok(Self { machine: machine.clone(), call: Time::ZERO, told: None });
        }
        let path = Path::new(name);
        if name != CALIBRATED && !path.exists() {
            let presets = presets.map(|(name, _)| name).join(", ");
            return Err(Failure::Usage(format!(
                "there is no machine {name}; choose {presets}, {CALIBRATED}, or a file of lane calibrate"
            )));
        }
        let calibration = match name {
            CALIBRATED => Calibration::measure(cores(None)?),
            _ => Calibration::read(path)?,
        };
        let group = Group::of(calibration.line_rtt_ns, Group::FAR_ABOVE_NS);
        Ok(Self::of(&calibration, group))
    }

    /// The machine on which all costs are as measured.
    pub(crate) fn of(calibration: &Calibration, group: Group) -> Self {
        let measured = Measured {
            migratory: calibration.is_migratory(),
            line_rtt: calibration.line_rtt_ns,
            block_handoff: calibration.block_handoff_ns_per_u64,
            private_ring: calibration.private_ring_ns,
            rmw: calibration.rmw_ns,
            fence: calibration.fence_ns,
            pause: calibration.pause_ns,
        };
        let machine = measured.fit();
        let told = format!(
            "{}: line_rtt {} ns, block_handoff {} ns, so a line needs {} ns and a core waits for {} at \
             once; a ring of one thread {} ns, a locked instruction {} ns, a pause {} ns",
            group.name(),
            short(measured.line_rtt),
            short(measured.block_handoff),
            short(machine.costs.same_l3.as_ns()),
            machine.fills,
            short(measured.private_ring),
            short(measured.rmw),
            short(measured.pause)
        );
        Self { machine, call: measured.call(), told: Some(told) }
    }
}

//! On a machine made from measurements, simulations give these measurements.

use corelane_simulate::{Measured, block_handoff, line_rtt};

const CORES: [usize; 2] = [0, 1];

#[test]
fn the_floors_come_out_as_measured() {
    let measured = Measured {
        line_rtt: 110.0,
        block_handoff: 0.35,
        private_ring: 1.0,
        rmw: 4.0,
        fence: 8.0,
        pause: 10.0,
        migratory: true,
    };
    let machine = measured.fit();
    let [trip, block] = [line_rtt(&machine, CORES), block_handoff(&machine, CORES)];
    assert!((trip / 110.0 - 1.0).abs() < 0.1, "{trip}");
    assert!((block / 0.35 - 1.0).abs() < 0.1, "{block} with {}", machine.fills);
}

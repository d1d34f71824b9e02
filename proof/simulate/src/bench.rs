//! Runs a stream through queues.

use std::rc::Rc;

use coherence::{Report, Simulation};

use crate::failure::Failure;
use crate::handles::New;
use crate::item::Item;
use crate::pool::Pool;
use crate::stream::{Side, Stream, StreamRun};
use crate::worker::{Aside, Charged, Worker, alone, forward, receive, send};

/// Runs `stream` through queues that `new` makes.
pub(crate) fn run<T: Item>(stream: &Stream, new: New<T>) -> Result<StreamRun, Failure> {
    let open = || new(stream.config()).map_err(Failure::Capacity);
    match stream.cores[..] {
        [core] => {
            // A core has one account, so either side is charged in a run of its own.
            let side = |charged| {
                let (tx, rx) = open()?;
                let mut bench = Bench::new(stream)?;
                bench.spawn(core, 0, move |worker| alone(tx, rx, charged, &worker));
                bench.run()
            };
            let (pushes, pops) = (side(Charged::Pushes)?, side(Charged::Pops)?);
            Ok(StreamRun { sides: [pushes.sides, pops.sides].concat(), ..pops })
        }
        [first, ref between @ .., last] => {
            let mut bench = Bench::new(stream)?;
            let (tx, mut rx) = open()?;
            bench.spawn(first, 0, |worker| send(tx, &worker));
            for (number, core) in (1..).zip(between) {
                let (next, following) = open()?;
                let from = std::mem::replace(&mut rx, following);
                bench.spawn(*core, number, |worker| forward(from, next, &worker));
            }
            bench.spawn(last, stream.cores.len() - 1, |worker| receive(rx, &worker));
            bench.run()
        }
        [] => panic!("a stream needs a core"),
    }
}

/// A simulation, and the shared state of its threads.
struct Bench {
    stream: Stream,
    aside: Rc<Aside>,
    pool: Rc<Pool>,
    simulation: Simulation,
}

impl Bench {
    fn new(stream: &Stream) -> Result<Self, Failure> {
        let threads = stream.cores.len();
        assert!(!stream.turns || threads <= 2, "only two threads can take turns");
        Ok(Self {
            stream: stream.clone(),
            aside: Rc::new(Aside::new(threads)),
            pool: Rc::new(Pool::new(stream)?),
            simulation: Simulation::new(stream.machine.clone(), stream.seed),
        })
    }

    /// Adds thread `number`.
    fn spawn(&mut self, core: usize, number: usize, thread: impl FnOnce(Worker) + 'static) {
        let worker =
            Worker::new(self.stream.clone(), number, self.aside.clone(), self.pool.clone());
        self.simulation.spawn(core, move || thread(worker));
    }

    fn run(self) -> Result<StreamRun, Failure> {
        let Self { stream, aside, simulation, .. } = self;
        let report = simulation.run().map_err(Failure::Stuck)?;
        if let Some((expected, found)) = aside.wrong.get() {
            return Err(Failure::Wrong { expected, found });
        }
        let side = |(number, core): (usize, &usize)| Side {
            items: stream.items,
            stalls: aside.stalls[number].get(),
            core: Report::core(&report, *core).expect("it ran a thread").clone(),
        };
        Ok(StreamRun {
            sides: stream.cores.iter().enumerate().map(side).collect(),
            time: aside.end.get() - aside.start.get(),
            accesses: report.accesses,
        })
    }
}

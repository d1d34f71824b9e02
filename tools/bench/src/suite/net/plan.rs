//! The cells of `lane bench net`.

use std::sync::Arc;
use std::time::Duration;

use corelane_report::{Failure, name};

use super::engines::{Measurable, entries, server};
use super::faults::Runs;
use super::place::{Namespaces, Place};
use super::setting::{Between, Engine, NetSetting};
use super::{Cell, NetArgs};
use crate::catalogue::any_ids;
use crate::cores;
use crate::kinds::Test;
use crate::params::{Length, Params};
use crate::plan::{self, Kernel, Plan};
use crate::threads::Wait;

/// About as long takes the start of both ends.
const START: Duration = Duration::from_millis(400);
/// About as long takes a run with faults.
const RUN: Duration = Duration::from_millis(1800);
/// Items of one word whose faults are looked for.
const FAULTY_BYTES: usize = 8;

impl NetArgs {
    pub(crate) fn plan(&self) -> Result<Plan, Failure> {
        let cores = cores::pair(None)?;
        let cores = vec![cores.producer, cores.consumer];
        let lanes = any_ids(entries(), &self.lanes)?;
        let mut chosen = self.run.choose(entries(), &lanes, |_| true);
        if !chosen.is_empty() {
            // The floor of all others.
            let floor = entries().iter().filter(|one| one.entry.is_floor);
            let is_missing = |one: &&Measurable| !chosen.iter().any(|it| std::ptr::eq(*it, *one));
            chosen.splice(0..0, floor.filter(is_missing).collect::<Vec<_>>());
        }
        let mut notes = leave_out(&mut chosen, &lanes)?;
        if self.between == Between::Namespaces {
            let whole = chosen.len();
            chosen.retain(|one| one.kernel.engine != Engine::ZenohShm);
            if chosen.len() < whole {
                notes.push("lanes through memory left out: nothing of them passes a link".into());
            }
        }
        let place = Arc::new(self.place()?);
        let mut cells = Vec::new();
        for &test in &self.test {
            let sizes = if test == Test::Faults { &[FAULTY_BYTES][..] } else { &self.record_bytes };
            for &record_bytes in sizes {
                let fitting = chosen.iter().filter(|one| one.kernel.has(test));
                cells.extend(fitting.map(|one| self.cell(one, test, record_bytes, &place)));
            }
        }
        Plan::new(cells, cores, &self.run, &lanes, notes)
    }

    fn place(&self) -> Result<Place, Failure> {
        if self.between == Between::Loopback {
            return Ok(Place::Loopback);
        }
        Namespaces::new(&self.rate).map(Place::Namespaces).map_err(|why| {
            Failure::Usage(format!(
                "--between namespaces needs root and iproute2 (Debian: apt-get install iproute2): {why}"
            ))
        })
    }

    fn cell(
        &self,
        one: &'static Measurable,
        test: Test,
        record_bytes: usize,
        place: &Arc<Place>,
    ) -> plan::Cell {
        let setting = NetSetting {
            guarantee: one.kernel.guarantee,
            engine: one.kernel.engine,
            record_bytes,
            between: self.between,
            rate: (self.between == Between::Namespaces).then(|| self.rate.clone()),
        };
        let items = self.items.filter(|_| test == Test::Stream);
        let length = Length::of(items, self.duration, 300);
        let time = match test {
            Test::Faults => RUN * self.runs.0 as u32,
            _ => START + length.time().mul_f64(1.25),
        };
        let cell = Cell {
            one,
            setting: setting.clone(),
            place: Arc::clone(place),
            length,
            load: self.load.map(|load| load.0),
            runs: Runs::new(self.runs.0, self.seed),
        };
        let kernel = Kernel::of(move |_| {
            cell.measure(test).map_err(|fault| format!("{fault}, in {}", name(&test)))
        });
        let params = Params { capacity: 0, wait: Wait::Within, setting: setting.into() };
        plan::Cell { entry: &one.entry, test, params, length: Length::Time(time), kernel }
    }
}

/// Leaves out what needs a server, if there is none. Returns a note on that.
fn leave_out(
    chosen: &mut Vec<&'static Measurable>,
    named: &[String],
) -> Result<Vec<String>, Failure> {
    let needs = |one: &&&Measurable| one.kernel.has_server;
    let names: Vec<_> = chosen.iter().filter(needs).map(|one| one.entry.info.id).collect();
    let Err(why) = server::find() else { return Ok(Vec::new()) };
    if let Some(name) = names.iter().find(|name| named.iter().any(|named| named == *name)) {
        return Err(Failure::Usage(format!("{name} can't be measured: {why}")));
    }
    chosen.retain(|one| !one.kernel.has_server);
    let note = || format!("{} left out: {why}", names.join(", "));
    Ok((!names.is_empty()).then(note).into_iter().collect())
}

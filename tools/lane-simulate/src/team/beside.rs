//! Measurements of `lane bench mpmc`, to be shown beside simulations.

use std::fs;
use std::path::Path;

use corelane_report::Failure;
use serde::Serialize;
use serde_json::Value;

/// Measurements, and their machine.
#[derive(Debug, Serialize)]
pub(super) struct Beside {
    pub(super) command: String,
    pub(super) machine: String,
    pub(super) points: Vec<MeasuredPoint>,
}

/// The throughput of a queue with some numbers of threads.
#[derive(Debug, Serialize)]
pub(super) struct MeasuredPoint {
    pub(super) queue: String,
    pub(super) producers: usize,
    pub(super) consumers: usize,
    pub(super) workload: String,
    pub(super) distance: String,
    pub(super) items_per_s: f64,
}

impl Beside {
    /// The throughput of single calls in a file of results, with the sides on different cores as in
    /// simulations.
    pub(super) fn read(path: &Path) -> Result<Self, Failure> {
        let name = path.display();
        let refused = |why: String| Failure::Usage(format!("{name}: {why}"));
        let text = fs::read_to_string(path).map_err(|error| refused(error.to_string()))?;
        let is_not = "is not what `lane bench mpmc --json FILE` writes";
        let file: Value =
            serde_json::from_str(&text).map_err(|error| refused(format!("{is_not} ({error})")))?;
        let machine = &file["machine"];
        let (Some(command), Some(cpu), Some(cpus), Some(results)) = (
            file["command"].as_str(),
            machine["cpu"].as_str(),
            machine["cpus"].as_u64(),
            file["results"].as_array(),
        ) else {
            return Err(refused(is_not.into()));
        };
        let points: Vec<_> = results.iter().flat_map(points).collect();
        if points.is_empty() {
            return Err(refused(format!("{is_not} with --test throughput --placement apart")));
        }
        Ok(Self { command: command.into(), machine: format!("{cpu}, {cpus} CPUs"), points })
    }
}

fn points(result: &Value) -> Vec<MeasuredPoint> {
    let params = &result["params"];
    let is_single =
        result["suite"] == "mpmc" && result["test"] == "throughput" && params["batch"] == 1;
    let is_apart = params["placement"].as_str().is_none_or(|placement| placement == "apart");
    let groups = result["groups"].as_object().filter(|_| is_single && is_apart);
    let point = |(distance, group): (&String, &Value)| {
        Some(MeasuredPoint {
            queue: result["queue"].as_str()?.to_owned(),
            producers: params["producers"].as_u64()? as usize,
            consumers: params["consumers"].as_u64()? as usize,
            workload: params["workload"].as_str()?.to_owned(),
            distance: distance.clone(),
            items_per_s: group["items_per_s"].as_f64()?,
        })
    };
    groups.into_iter().flatten().filter_map(point).collect()
}

//! `lane` measures corelane's queues on the machine it runs on. `lane verify`, `lane simulate` and
//! `lane count` are programs beside it.

mod cli;
mod listing;
mod subprogram;

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use corelane_bench::{
    Calibration, Counting, Plan, QuickArgs, Results, TuneArgs, be_net_end, be_peer, compute, cores,
    numbers, picture, run,
};
use corelane_report::{Block, Failure, Files, Sink, about, announce, interrupt, parse, print};

use cli::{CalibrateArgs, Cli, Command, ReportArgs};

/// For `lane bench relaxed --test memory`.
#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn main() -> ExitCode {
    parse().and_then(carry_out).unwrap_or_else(Failure::report)
}

fn carry_out(cli: Cli) -> Result<ExitCode, Failure> {
    match cli.command {
        None => quick(&cli.quick),
        Some(Command::List { queues, long, json, markdown }) => {
            let list = match (long, json) {
                _ if markdown => listing::markdown(),
                (true, _) => listing::long(&queues)?,
                (_, true) => listing::json(&queues)?,
                _ => listing::table(&queues)?,
            };
            print(&list).map(|()| ExitCode::SUCCESS)
        }
        Some(Command::Bench { suite }) => bench(suite.plan()?),
        Some(Command::Tune(args)) => tune(&args),
        Some(Command::Peer { what }) => be_peer(&what).map(|()| ExitCode::SUCCESS),
        Some(Command::NetEnd { what }) => be_net_end(&what).map(|()| ExitCode::SUCCESS),
        Some(Command::Compute { core, nice }) => compute(core, nice).map(|()| ExitCode::SUCCESS),
        Some(Command::Report(args)) => report(&args),
        Some(Command::Calibrate(args)) => calibrate(&args),
        Some(Command::Verify { args }) => subprogram::start("lane-verify", &args),
        Some(Command::Count { args }) => subprogram::start("lane-count", &args),
        Some(Command::Simulate { args }) => subprogram::start("lane-simulate", &args),
    }
}

/// Prints the conclusion, and all tables if they are asked for.
fn quick(args: &QuickArgs) -> Result<ExitCode, Failure> {
    let plan = args.plan()?;
    let (queues, time) = (plan.queues(), about(plan.time()));
    interrupt::listen();
    eprintln!("lane: measures {queues} queues between two threads, {time}; Ctrl-C ends it early.");
    measure(plan, |results, files| {
        let [document, conclusion] = results.quick_documents();
        files.publish_and_print(results, &document, if args.all { &document } else { &conclusion })
    })
}

fn bench(plan: Plan) -> Result<ExitCode, Failure> {
    interrupt::listen();
    announce(&format!("measures queues side by side, {}", plan.summary()), plan.time());
    plan.notes.iter().for_each(|note| eprintln!("note: {note}"));
    measure(plan, |results, files| files.publish(results, &results.document()))
}

fn tune(args: &TuneArgs) -> Result<ExitCode, Failure> {
    let tuning = args.prepare()?;
    interrupt::listen();
    announce(&tuning.summary(), tuning.time());
    if !tuning.run()? {
        eprintln!("nothing was measured");
    }
    Ok(interrupt::exit_code(0))
}

/// Measures and publishes.
fn measure(
    mut plan: Plan,
    publish: impl Fn(&Results, &mut Files) -> Result<(), Failure>,
) -> Result<ExitCode, Failure> {
    let mut files = std::mem::take(&mut plan.files);
    let results = run(&Arc::new(plan))?;
    match results.rounds() {
        0 => eprintln!("nothing was measured"),
        _ => publish(&results, &mut files)?,
    }
    Ok(interrupt::exit_code(0))
}

fn report(args: &ReportArgs) -> Result<ExitCode, Failure> {
    let kept = args.results.iter().map(|path| Results::read(path));
    let kept = kept.collect::<Result<Vec<_>, _>>()?;
    if let Some(path) = &args.svg {
        Sink::open(path)?.replace(&picture(&kept)?)?;
    }
    Files::default().and_markdown(args.markdown.as_deref())?.publish(&(), &numbers(&kept))?;
    Ok(ExitCode::SUCCESS)
}

fn calibrate(args: &CalibrateArgs) -> Result<ExitCode, Failure> {
    let mut files = Files::open(&args.files())?;
    let cores = cores(args.cores)?;
    announce("measures the caches and instructions of this machine", Duration::from_secs(1));
    let calibration = Calibration::measure(cores);
    let mut document = calibration.document();
    if let Some(path) = &args.json {
        let command = format!("Simulate it with: lane simulate --machine {}", path.display());
        document.add(Block::Paragraph(command));
    }
    files.publish(&calibration, &document)?;
    Ok(ExitCode::SUCCESS)
}

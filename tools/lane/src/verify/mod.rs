//! `lane verify`: which orderings the queues need, and whether their histories are those of queues.

mod histories;
mod html;
mod kept;
mod markdown;
mod orderings;
mod outcome;
mod text;
mod unreached;
mod worker;

use std::process::ExitCode;
use std::time::Duration;

use crate::cli::VerifyArgs;
use crate::failure::Failure;
use crate::interrupt;
use crate::print;
use crate::sink::Sink;
use kept::Kept;
use outcome::Verification;

/// What the program ends with if a queue's models fail, or a seeded bug is not found.
const UNSOUND: u8 = 1;

/// A broken queue that has models and nothing else.
const CANARY: &str = "canary";

/// Ids of all queues that can be verified.
pub(crate) fn ids() -> Vec<&'static str> {
    let mut ids = orderings::queue_ids();
    ids.extend(
        histories::queue_ids().into_iter().filter(|id| !orderings::queue_ids().contains(id)),
    );
    ids.push(CANARY);
    ids
}

/// Does what the command line asks for.
pub(crate) fn carry_out(args: &VerifyArgs) -> Result<ExitCode, Failure> {
    if args.worker {
        return Ok(worker::serve());
    }
    interrupt::listen();
    let queues: Vec<_> = match (args.queues.as_slice(), args.histories) {
        ([], None) => orderings::queue_ids(),
        ([], Some(_)) => histories::queue_ids(),
        (named, _) => named.iter().map(String::as_str).collect(),
    };
    let sound = match args.histories {
        Some(time) => check_histories(args, &queues, time)?,
        None => check_orderings(args, &queues)?,
    };
    Ok(ExitCode::from(match sound {
        _ if interrupt::requested() => interrupt::EXIT_CODE,
        true => 0,
        false => UNSOUND,
    }))
}

/// Whether all queues pass their models and all seeded bugs are found.
fn check_orderings(args: &VerifyArgs, queues: &[&str]) -> Result<bool, Failure> {
    let modelled = orderings::queue_ids();
    if let Some(id) = queues.iter().find(|id| **id != CANARY && !modelled.contains(*id)) {
        let text = format!("{id} has histories, but no models yet; ask for --histories 10s");
        return Err(Failure::Usage(text));
    }
    let kept = args.kept.as_deref().map(Kept::read).transpose()?.unwrap_or_default();
    let mut files = Files::open(args)?;
    let verification = orderings::verify(queues, args.big, &kept)?;
    let written = files.write(&verification);
    let with_sites = !args.queues.is_empty();
    // What was found is shown even if it can't be written.
    show(&text::render(&verification, with_sites, written.as_deref().unwrap_or_default()))?;
    written.map(|_| verification.is_sound())
}

/// Whether all histories are those of queues.
fn check_histories(args: &VerifyArgs, queues: &[&str], time: Duration) -> Result<bool, Failure> {
    let mut json = args.json.as_deref().map(Sink::open).transpose()?;
    let histories = histories::check(queues, time)?;
    let mut text = histories.render();
    let contents = serde_json::to_string_pretty(&histories).expect("results are plain data");
    let written = json.as_mut().map(|sink| sink.replace(&contents)).transpose();
    if let Ok(Some(path)) = &written {
        text.push_str(&format!("\nWritten: {path}\n"));
    }
    show(&text)?;
    written.map(|_| histories.are_sound())
}

/// Prints. A reader who has seen enough changes nothing about what the program ends with.
fn show(text: &str) -> Result<(), Failure> {
    match print(text) {
        Err(Failure::PipeClosed) => Ok(()),
        other => other,
    }
}

/// Where the results go beside the terminal.
struct Files {
    json: Option<Sink>,
    html: Option<Sink>,
    markdown: Option<Sink>,
}

impl Files {
    fn open(args: &VerifyArgs) -> Result<Self, Failure> {
        let open = |path: &Option<_>| path.as_deref().map(Sink::open).transpose();
        Ok(Self {
            json: open(&args.json)?,
            html: open(&args.html)?,
            markdown: open(&args.markdown)?,
        })
    }

    fn write(&mut self, verification: &Verification) -> Result<Vec<String>, Failure> {
        let json = || serde_json::to_string_pretty(verification).expect("results are plain data");
        let mut written = Vec::new();
        let mut write = |sink: &mut Option<Sink>, render: &dyn Fn() -> String| match sink {
            Some(sink) => sink.replace(&render()).map(|path| written.push(path)),
            None => Ok(()),
        };
        write(&mut self.json, &json)?;
        write(&mut self.html, &|| html::render(verification))?;
        write(&mut self.markdown, &|| markdown::render(verification))?;
        Ok(written)
    }
}

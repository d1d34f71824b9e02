//! `lane verify`: which orderings the queues need, and whether their histories are those of queues.

mod html;
mod markdown;
mod orderings;
mod outcome;
mod text;
mod unreached;
mod worker;

use std::process::ExitCode;

use crate::cli::VerifyArgs;
use crate::failure::Failure;
use crate::interrupt;
use crate::print;
use crate::sink::Sink;
use outcome::Verification;

/// What the program ends with if a queue's models fail, or a seeded bug is not found.
const UNSOUND: u8 = 1;

/// Ids of all queues that can be verified.
pub(crate) fn ids() -> Vec<&'static str> {
    let mut ids = orderings::queue_ids();
    ids.push("canary");
    ids
}

/// Does what the command line asks for.
pub(crate) fn carry_out(args: &VerifyArgs) -> Result<ExitCode, Failure> {
    if args.worker {
        return Ok(worker::serve());
    }
    interrupt::listen();
    let mut files = Files::open(args)?;
    let all = orderings::queue_ids();
    let queues: Vec<_> = match args.queues.as_slice() {
        [] => all,
        named => named.iter().map(String::as_str).collect(),
    };
    let verification = orderings::verify(&queues, args.big)?;
    let written = files.write(&verification)?;
    let with_sites = !args.queues.is_empty();
    print(&text::render(&verification, with_sites, &written))?;
    Ok(match verification {
        Verification { interrupted: true, .. } => ExitCode::from(interrupt::EXIT_CODE),
        sound if sound.is_sound() => ExitCode::SUCCESS,
        _ => ExitCode::from(UNSOUND),
    })
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

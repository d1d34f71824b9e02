//! Lets programs in each language push to programs in each other, and kills them.

use std::fmt;
use std::fs::File;
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::process::{Child, Command, ExitCode, Stdio};
use std::str::FromStr;
use std::thread::sleep;
use std::time::{Duration, Instant};

use clap::Parser;
use corelane::shm::{Carried, Lane};
use corelane_peers::{Kind, Tick};

/// Lets programs in each language push into lanes from which programs in each language pop, and
/// kills both at random. Checks that nothing is lost, doubled or reordered.
#[derive(Debug, Parser)]
#[command(name = "matrix", version, max_term_width = 100)]
struct Args {
    /// A language, and its program.
    #[arg(long = "peer", value_name = "NAME=PROGRAM", required = true)]
    peers: Vec<Peer>,

    /// Items, or records, of each pair.
    #[arg(long, default_value_t = 100_000, value_parser = clap::value_parser!(u64).range(1..))]
    items: u64,

    /// Processes of each pair that are killed.
    #[arg(long, default_value_t = 10)]
    kills: u64,

    /// Where the random moments begin.
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

#[derive(Debug, Clone)]
struct Peer {
    name: String,
    program: PathBuf,
}

impl FromStr for Peer {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, program) = text.split_once('=').ok_or("write NAME=PROGRAM")?;
        let program = PathBuf::from(program);
        if !program.is_file() {
            return Err(format!("there is no program {}", program.display()));
        }
        Ok(Self { name: name.to_owned(), program })
    }
}

/// A pair must end within this time.
const PATIENCE: Duration = Duration::from_secs(120);
/// About the least time of an item. A process that is killed lives so long, behind its start, that
/// all of them together move the items once.
const ITEM: Duration = Duration::from_nanos(20);
/// Few, so that each side often waits for the other one.
const CAPACITY: usize = 256;
/// For as many records as items.
const BYTES: usize = 16 * 1024;
/// Where the header of a lane has its version.
const VERSION_AT: u64 = 8;

fn main() -> ExitCode {
    let args = Args::parse();
    println!("{} items a pair, {} kills, seed {}", args.items, args.kills, args.seed);
    let (mut passed, mut failed) = (0, 0);
    let mut told = |what: fmt::Arguments<'_>, result: Result<String, String>| match result {
        Ok(text) => {
            passed += 1;
            println!("{what}: ok, {text}");
        }
        Err(error) => {
            failed += 1;
            println!("{what}: FAILED: {error}");
        }
    };
    let mut random = fastrand::Rng::with_seed(args.seed);
    for kind in [Kind::Items, Kind::Records] {
        for from in &args.peers {
            for to in &args.peers {
                let result = match kind {
                    Kind::Items => lane(CAPACITY).and_then(|lane: Lane<Tick>| {
                        pair(&lane, kind, [from, to], &args, &mut random)
                    }),
                    Kind::Records => lane(BYTES).and_then(|lane: Lane<[u8]>| {
                        pair(&lane, kind, [from, to], &args, &mut random)
                    }),
                };
                told(format_args!("{} to {}, {kind}", from.name, to.name), result);
            }
        }
    }
    for peer in &args.peers {
        told(format_args!("{}, a lane of another version", peer.name), refuses_other_version(peer));
    }
    println!("{passed} passed, {failed} failed");
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn lane<T: Carried + ?Sized>(capacity: usize) -> Result<Lane<T>, String> {
    Lane::create(capacity).map_err(text)
}

fn text(error: impl fmt::Display) -> String {
    error.to_string()
}

/// A side of a pair.
struct Side<'a> {
    role: &'static str,
    peer: &'a Peer,
    /// How long the program takes to start.
    start: Duration,
    /// `None` once it has ended well.
    child: Option<Child>,
    kills: u64,
}

impl<'a> Side<'a> {
    fn new(role: &'static str, peer: &'a Peer) -> Result<Self, String> {
        let begin = Instant::now();
        // Without arguments it ends at once.
        Command::new(&peer.program).stderr(Stdio::null()).status().map_err(text)?;
        Ok(Self { role, peer, start: begin.elapsed(), child: None, kills: 0 })
    }

    fn spawn<T: Carried + ?Sized>(
        &mut self,
        lane: &Lane<T>,
        kind: Kind,
        items: u64,
    ) -> Result<(), String> {
        let mut command = Command::new(&self.peer.program);
        let descriptor = lane.give(&mut command).map_err(text)?.to_string();
        command.args([self.role, &kind.to_string(), &descriptor, &items.to_string()]);
        self.child = Some(command.stderr(Stdio::piped()).spawn().map_err(text)?);
        Ok(())
    }

    /// Whether it has ended well.
    fn is_over(&mut self) -> Result<bool, String> {
        let Some(child) = &mut self.child else { return Ok(true) };
        match child.try_wait().map_err(text)? {
            None => Ok(false),
            Some(status) if status.success() => {
                self.child = None;
                Ok(true)
            }
            Some(status) => {
                let child = self.child.take().expect("it is there");
                let error = child.wait_with_output().map_err(text)?.stderr;
                Err(format!("{status}: {}", String::from_utf8_lossy(&error).trim()))
            }
        }
    }

    fn kill(&mut self) -> Result<(), String> {
        if let Some(mut child) = self.child.take() {
            child.kill().and_then(|()| child.wait()).map_err(text)?;
            self.kills += 1;
        }
        Ok(())
    }
}

impl Drop for Side<'_> {
    fn drop(&mut self) {
        // After a failure: nothing else can be done with it.
        let _ = self.kill();
    }
}

/// Lets one peer push and the other one pop, and kills them.
fn pair<T: Carried + ?Sized>(
    lane: &Lane<T>,
    kind: Kind,
    [from, to]: [&Peer; 2],
    args: &Args,
    random: &mut fastrand::Rng,
) -> Result<String, String> {
    let begin = Instant::now();
    let mut sides = [Side::new("push", from)?, Side::new("pop", to)?];
    for side in &mut sides {
        side.spawn(lane, kind, args.items)?;
    }
    let life = 2 * ITEM.mul_f64(args.items as f64 / args.kills.max(1) as f64);
    let mut over = [false; 2];
    while over != [true; 2] {
        let kills: u64 = sides.iter().map(|side| side.kills).sum();
        let which = random.usize(..2);
        if kills < args.kills && !over[which] {
            let side = &mut sides[which];
            sleep(side.start + life.mul_f64(random.f64()));
            if !side.is_over()? {
                side.kill()?;
                side.spawn(lane, kind, args.items)?;
            }
        } else {
            sleep(Duration::from_millis(1));
        }
        for (side, over) in sides.iter_mut().zip(&mut over) {
            *over = side.is_over()?;
        }
        if begin.elapsed() > PATIENCE {
            return Err(format!("not over after {} s", PATIENCE.as_secs()));
        }
    }
    let seconds = begin.elapsed().as_secs_f64();
    Ok(format!("{} and {} kills, {seconds:.1} s", sides[0].kills, sides[1].kills))
}

/// A peer must say by name what differs.
fn refuses_other_version(peer: &Peer) -> Result<String, String> {
    let lane: Lane<Tick> = lane(CAPACITY)?;
    let file = File::from(lane.as_fd().try_clone_to_owned().map_err(text)?);
    file.write_all_at(&1_u64.to_ne_bytes(), VERSION_AT).map_err(text)?;
    let mut command = Command::new(&peer.program);
    let descriptor = lane.give(&mut command).map_err(text)?.to_string();
    let output = command.args(["push", "items", &descriptor, "1"]).output().map_err(text)?;
    let error = String::from_utf8_lossy(&output.stderr);
    if output.status.code() == Some(1) && error.contains("version") {
        return Ok("refused by name".to_owned());
    }
    Err(format!("{}: {}", output.status, error.trim()))
}

//! The output of a program, and its failures.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::error::{ContextKind, ErrorKind};
use clap::{Command, Parser};
use serde::Serialize;

use crate::{Document, FileArgs};

/// The path that stands for standard output.
const STANDARD: &str = "-";

/// Why a program stops: one line on stderr and an exit code.
#[derive(Debug)]
pub enum Failure {
    /// The command can't be carried out as given; the text says what to change.
    Usage(String),
    /// The run failed.
    Run(String),
}

impl Failure {
    /// Reports the failure to the user. Returns the exit code.
    pub fn report(self) -> ExitCode {
        let (text, code) = match self {
            Self::Usage(text) => (text, 2),
            Self::Run(text) => (text, 1),
        };
        eprintln!("error: {text}");
        ExitCode::from(code)
    }
}

/// The command line of the program. If it asks for help, help is printed and the program ends.
///
/// # Errors
///
/// If it is wrong. Clap's answer takes several lines, and may not name what there is.
pub fn parse<P: Parser>() -> Result<P, Failure> {
    P::try_parse().map_err(|error| match error.kind() {
        ErrorKind::DisplayHelp
        | ErrorKind::DisplayVersion
        | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => error.exit(),
        _ => Failure::Usage(in_a_line(&error, &P::command())),
    })
}

/// What is wrong, and what there is instead.
fn in_a_line(error: &clap::Error, program: &Command) -> String {
    let text = error.render().to_string();
    let reason = text.split("\n\n").next().unwrap_or(&text).trim_start_matches("error: ");
    let reason = reason.split_whitespace().collect::<Vec<_>>().join(" ");
    if !matches!(error.kind(), ErrorKind::UnknownArgument | ErrorKind::InvalidSubcommand) {
        return reason;
    }
    // Only the usage tells which command it was.
    let usage = text.split_once("Usage: ").map_or("", |(_, usage)| usage);
    let path = usage.split_whitespace().take_while(|word| !word.starts_with(['[', '<']));
    let path: Vec<_> = path.collect();
    let inner = |outer, word: &&str| Command::find_subcommand(outer, word).unwrap_or(outer);
    let command = path.iter().fold(program, inner);
    let path = path.join(" ");
    let has_options = command.get_arguments().next().is_some();
    match error.get(ContextKind::SuggestedArg) {
        // Without options of its own it has them only behind the name of a command.
        _ if !has_options || error.kind() == ErrorKind::InvalidSubcommand => {
            let shown = command.get_subcommands().filter(|inner| !inner.is_hide_set());
            let names: Vec<_> = shown.map(Command::get_name).collect();
            format!("{reason}; `{path}` takes one of {} first", names.join(", "))
        }
        Some(nearest) => format!("{reason}; the nearest is {nearest}"),
        None => format!("{reason}; `{path} --help` has all"),
    }
}

/// So few names are all told.
const FEW: usize = 8;

/// The failure for a `name` that is none of the `known` names.
pub fn unknown<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Failure {
    let known: Vec<_> = known.collect();
    if known.len() <= FEW {
        return Failure::Usage(format!(
            "nothing is called {name}; choose from {}",
            known.join(", ")
        ));
    }
    let mut nearest: Vec<_> =
        known.into_iter().map(|id| (strsim::jaro_winkler(name, id), id)).collect();
    nearest.sort_by(|a, b| f64::total_cmp(&b.0, &a.0));
    let nearest: Vec<_> = nearest.iter().take(3).map(|(_, id)| *id).collect();
    let nearest = nearest.join(", ");
    Failure::Usage(format!(
        "no queue is called {name}; the nearest are {nearest} (lane list has all)"
    ))
}

/// Prints `text`. A reader that closes the pipe early does not change the exit code.
///
/// # Errors
///
/// If the output can't be written for another reason.
pub fn print(text: &str) -> Result<(), Failure> {
    match io::stdout().lock().write_all(text.as_bytes()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Failure::Run(format!("can't write the output: {error}")))
        }
        _ => Ok(()),
    }
}

/// A file that is opened early and written later; standard output if its name is `-`.
#[derive(Debug)]
pub struct Sink {
    path: PathBuf,
    /// The existing file, if there was one.
    file: Option<File>,
}

impl Sink {
    /// Makes sure that `path` can be written. An existing file keeps its contents until there are
    /// new ones, and no file is left if there was none.
    ///
    /// # Errors
    ///
    /// If it can't be written.
    pub fn open(path: &Path) -> Result<Self, Failure> {
        Self::probe(path).map(|file| Self { path: path.to_owned(), file }).map_err(|error| {
            let path = path.display();
            Failure::Usage(format!("can't write {path} ({error}); choose another path"))
        })
    }

    fn probe(path: &Path) -> io::Result<Option<File>> {
        if path == Path::new(STANDARD) {
            return Ok(None);
        }
        if path.exists() {
            return OpenOptions::new().append(true).open(path).map(Some);
        }
        File::create_new(path)?;
        fs::remove_file(path).map(|()| None)
    }

    /// Whether it is standard output.
    fn is_standard(&self) -> bool {
        self.path == Path::new(STANDARD)
    }

    /// Replaces the contents. Returns the file's path, unless it is standard output.
    ///
    /// # Errors
    ///
    /// If they can't be written.
    pub fn replace(&mut self, contents: &str) -> Result<Option<String>, Failure> {
        if self.is_standard() {
            return print(contents).map(|()| None);
        }
        let path = self.path.display().to_string();
        match self.write(contents.as_bytes()) {
            Ok(()) => Ok(Some(path)),
            Err(error) => Err(Failure::Run(format!("can't write {path}: {error}"))),
        }
    }

    fn write(&mut self, contents: &[u8]) -> io::Result<()> {
        let Some(file) = &mut self.file else { return fs::write(&self.path, contents) };
        // Devices and pipes have no length to cut.
        if file.metadata()?.is_file() {
            file.set_len(0)?;
        }
        file.write_all(contents)
    }
}

/// Files for results, opened before anything is measured.
#[derive(Debug, Default)]
pub struct Files {
    json: Option<Sink>,
    html: Option<Sink>,
    markdown: Option<Sink>,
}

impl Files {
    /// The files that are asked for.
    ///
    /// # Errors
    ///
    /// If one can't be written.
    pub fn open(args: &FileArgs) -> Result<Self, Failure> {
        let open = |path: &Option<PathBuf>| path.as_deref().map(Sink::open).transpose();
        Ok(Self { json: open(&args.json)?, html: open(&args.html)?, markdown: None })
    }

    /// Also writes Markdown, if a path is given.
    ///
    /// # Errors
    ///
    /// If it can't be written.
    pub fn and_markdown(self, path: Option<&Path>) -> Result<Self, Failure> {
        Ok(Self { markdown: path.map(Sink::open).transpose()?, ..self })
    }

    /// Writes the files, then prints; to stderr if standard output is one of the files.
    ///
    /// Files are written first, even if the output is not read. The results are printed even if a
    /// file can't be written.
    ///
    /// # Errors
    ///
    /// If a file or the output can't be written.
    pub fn publish(&mut self, data: &impl Serialize, document: &Document) -> Result<(), Failure> {
        self.publish_and_print(data, document, document)
    }

    /// The same, but prints `shown`.
    ///
    /// # Errors
    ///
    /// As of [`publish`](Self::publish).
    pub fn publish_and_print(
        &mut self,
        data: &impl Serialize,
        document: &Document,
        shown: &Document,
    ) -> Result<(), Failure> {
        let json = || serde_json::to_string_pretty(data).expect("results are plain data") + "\n";
        let is_taken =
            [&self.json, &self.html, &self.markdown].into_iter().flatten().any(Sink::is_standard);
        let mut written = Vec::new();
        let mut write = |sink: &mut Option<Sink>, contents: &dyn Fn() -> String| match sink {
            Some(sink) => sink.replace(&contents()).map(|path| written.extend(path)),
            None => Ok(()),
        };
        let outcome = write(&mut self.json, &json)
            .and_then(|()| write(&mut self.html, &|| document.to_html()))
            .and_then(|()| write(&mut self.markdown, &|| document.to_markdown()));
        let mut text = shown.to_text();
        if !written.is_empty() {
            text.push_str(&format!("Written: {}\n", written.join(", ")));
        }
        if is_taken {
            eprint!("{text}")
        } else {
            print(&text)?
        }
        outcome
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_keeps_its_contents_until_they_are_replaced() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("results");
        std::fs::write(&path, "something long from before").unwrap();
        let mut sink = Sink::open(&path).unwrap();
        assert!(std::fs::read_to_string(&path).unwrap().contains("before"));
        sink.replace("new").unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "new");
        let new = directory.path().join("new");
        let mut sink = Sink::open(&new).unwrap();
        assert!(!new.exists(), "there is nothing to write yet");
        sink.replace("first").unwrap();
        assert_eq!(std::fs::read_to_string(&new).unwrap(), "first");
    }
}

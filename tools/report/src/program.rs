//! How a program tells what it found, and how it fails.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;

use crate::{Document, FileArgs};

/// Why a program stops: one line on stderr and an exit code.
#[derive(Debug)]
pub enum Failure {
    /// The command can't be carried out as given; the text names the mend.
    Usage(String),
    /// Something went wrong underway.
    Run(String),
}

impl Failure {
    /// Tells the user, and says what to tell the shell.
    pub fn report(self) -> ExitCode {
        let (text, code) = match self {
            Self::Usage(text) => (text, 2),
            Self::Run(text) => (text, 1),
        };
        eprintln!("error: {text}");
        ExitCode::from(code)
    }
}

/// Prints. A reader who has seen enough changes nothing about how the program ends.
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

/// A bar on stderr, and only on a terminal. It has no thread of its own, which would disturb.
pub fn progress(length: usize, template: &str) -> ProgressBar {
    let style = ProgressStyle::with_template(template).expect("a valid template");
    ProgressBar::new(length as u64).with_style(style)
}

/// A file that can be written when the run is over.
#[derive(Debug)]
pub struct Sink {
    path: PathBuf,
    file: File,
}

impl Sink {
    /// Makes sure that `path` can be written. What is there stays until there is something new.
    ///
    /// # Errors
    ///
    /// If it can't be.
    pub fn open(path: &Path) -> Result<Self, Failure> {
        let file = OpenOptions::new().create(true).append(true).open(path).map_err(|error| {
            let path = path.display();
            Failure::Usage(format!("can't write {path} ({error}); choose another path"))
        })?;
        Ok(Self { path: path.to_owned(), file })
    }

    /// Replaces the contents, and returns where they are.
    fn replace(&mut self, contents: &str) -> Result<String, Failure> {
        let path = self.path.display().to_string();
        match self.write(contents.as_bytes()) {
            Ok(()) => Ok(path),
            Err(error) => Err(Failure::Run(format!("can't write {path}: {error}"))),
        }
    }

    fn write(&mut self, contents: &[u8]) -> io::Result<()> {
        // Devices and pipes have no length to cut.
        if self.file.metadata()?.is_file() {
            self.file.set_len(0)?;
        }
        self.file.write_all(contents)
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
    /// Those that are asked for.
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

    /// Writes the files, then prints.
    ///
    /// Files come first: they must be there even if nobody reads what is printed. And what was found is printed even if
    /// it can't be written.
    ///
    /// # Errors
    ///
    /// If something can't be written.
    pub fn publish(&mut self, data: &impl Serialize, document: &Document) -> Result<(), Failure> {
        let json = || serde_json::to_string_pretty(data).expect("results are plain data");
        let mut written = Vec::new();
        let mut write = |sink: &mut Option<Sink>, contents: &dyn Fn() -> String| match sink {
            Some(sink) => sink.replace(&contents()).map(|path| written.push(path)),
            None => Ok(()),
        };
        let outcome = write(&mut self.json, &json)
            .and_then(|()| write(&mut self.html, &|| document.to_html()))
            .and_then(|()| write(&mut self.markdown, &|| document.to_markdown()));
        let mut text = document.to_text();
        written.iter().for_each(|path| text.push_str(&format!("\nWritten: {path}\n")));
        print(&text)?;
        outcome
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_there_stays_until_there_is_something_new() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("results");
        std::fs::write(&path, "something long from before").unwrap();
        let mut sink = Sink::open(&path).unwrap();
        assert!(std::fs::read_to_string(&path).unwrap().contains("before"));
        sink.replace("new").unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "new");
    }
}

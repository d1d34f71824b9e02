//! Files for results, opened before anything is measured.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::failure::Failure;

/// A file that can be written when the run is over.
#[derive(Debug)]
pub(crate) struct Sink {
    path: PathBuf,
    file: File,
}

impl Sink {
    /// Makes sure that `path` can be written. What is there stays until there is something new.
    pub(crate) fn open(path: &Path) -> Result<Self, Failure> {
        let file = OpenOptions::new().create(true).append(true).open(path).map_err(|error| {
            let path = path.display();
            Failure::Usage(format!("can't write {path} ({error}); choose another path"))
        })?;
        Ok(Self { path: path.to_owned(), file })
    }

    /// Replaces the contents, and returns where they are.
    pub(crate) fn replace(&mut self, contents: &str) -> Result<String, Failure> {
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

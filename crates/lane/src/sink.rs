//! Files for results, opened before anything is measured.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// A file that can be written when the run is over.
#[derive(Debug)]
pub(crate) struct Sink {
    path: PathBuf,
    file: File,
}

impl Sink {
    /// Makes sure that `path` can be written. What is there stays until there is something new.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let file = OpenOptions::new().create(true).append(true).open(path)?;
        Ok(Self { path: path.to_owned(), file })
    }

    /// Replaces the contents.
    pub(crate) fn write(&mut self, contents: &[u8]) -> io::Result<()> {
        // Devices and pipes have no length to cut.
        if self.file.metadata()?.is_file() {
            self.file.set_len(0)?;
        }
        self.file.write_all(contents)
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

//! Counts the files below a directory, and their bytes, with all cores: `directory_walk [PATH]`.
//!
//! A task is a directory. It pushes the directories that it finds, and workers that have none steal
//! some.

use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

use corelane::steal::pool::{self, Local, Options};

fn main() -> std::io::Result<()> {
    let root = PathBuf::from(std::env::args().nth(1).unwrap_or_else(|| ".".into()));
    let (files, bytes) = (AtomicU64::new(0), AtomicU64::new(0));
    let walk = |local: &mut Local<PathBuf>, directory: PathBuf| {
        // What may not be read, or is gone meanwhile, is left out.
        for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
            match entry.metadata() {
                Ok(data) if data.is_dir() => local.push(entry.path()),
                Ok(data) => {
                    files.fetch_add(1, Ordering::Relaxed);
                    bytes.fetch_add(data.len(), Ordering::Relaxed);
                }
                Err(_) => {}
            }
        }
    };
    pool::run(Options::default(), [root], walk)?;
    println!("{} files, {} bytes", files.into_inner(), bytes.into_inner());
    Ok(())
}

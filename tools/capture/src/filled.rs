//! Reads that fill their buffers.

use std::io::{ErrorKind, Read, Result};

/// A source whose reads fill their buffer, unless it ends.
///
/// A pipe may return less than asked for, even a byte at a time. The parser looks for a file's
/// header in its first read only, and parses a record again after each further read.
pub(crate) struct Filled<R>(pub(crate) R);

impl<R: Read> Read for Filled<R> {
    fn read(&mut self, into: &mut [u8]) -> Result<usize> {
        let mut done = 0;
        while done < into.len() {
            match self.0.read(&mut into[done..]) {
                Ok(0) => break,
                Ok(n) => done += n,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(done)
    }
}

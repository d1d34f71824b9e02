//! Reads that are as long as they can be.

use std::io::{ErrorKind, Read, Result};

/// A source whose reads fill their buffer, unless it ends.
///
/// A pipe gives less than asked for, down to a byte at a time. The parser looks for a file's header in
/// its first read only, and parses a record anew after each further one.
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

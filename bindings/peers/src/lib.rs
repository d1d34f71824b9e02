//! Programs in several languages that push into lanes, and pop from them.
//!
//! A peer is a program `PEER ROLE KIND DESCRIPTOR ITEMS`:
//!
//! - ROLE is `push` or `pop`, KIND is `items` or `records`, DESCRIPTOR the number of an inherited
//!   descriptor of the lane.
//! - It takes its side, and goes on with the number that the side's position says, until ITEMS were
//!   pushed or popped since the lane was made. Then it ends with 0.
//! - An item is a [`Tick`]. A record has 8 to 128 bytes: see [`words`].
//! - It ends with 1, and a line that says why, if an item is another one than the next, or if the
//!   lane can't be opened.
//! - It may be killed at any moment. If the other side is closed, it waits for the next peer.

use std::fmt;
use std::str::FromStr;

use zerocopy::{FromBytes, Immutable, IntoBytes};

/// An item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, Immutable)]
#[repr(C)]
pub struct Tick {
    /// Which item it is, from 0 on.
    pub number: u64,
    /// Follows from the number.
    pub product: u64,
}

impl Tick {
    /// The item of this number.
    pub fn new(number: u64) -> Self {
        Self { number, product: number.wrapping_mul(0x9E37_79B9_7F4A_7C15) }
    }
}

/// Words of the record of this number. Each is the number.
pub fn words(number: u64) -> usize {
    1 + (number % 16) as usize
}

/// What a lane carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Items.
    Items,
    /// Byte records.
    Records,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Items => "items",
            Self::Records => "records",
        })
    }
}

impl FromStr for Kind {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        match name {
            "items" => Ok(Self::Items),
            "records" => Ok(Self::Records),
            other => Err(format!("no kind {other}: items or records")),
        }
    }
}

//! What the queues of byte records have in common.

use core::ops::{Deref, DerefMut};
use std::io;

use crate::bytes::{self, ClaimError};
use crate::queue::TryPopError;
use crate::record_ring;
use crate::region::Run;

/// A sending side. The two halves of a claim are apart, so that a wait holds nothing.
pub trait Claims {
    type Room;
    type Claim<'a>: Commits
    where
        Self: 'a;
    /// Whether a claim that finds no room, or is given up, can make records ready or give room back.
    const CHANGES_IN_VAIN: bool;

    fn allocate(&mut self, len: usize) -> Result<Self::Room, ClaimError>;
    fn claimed(&mut self, room: Self::Room) -> Self::Claim<'_>;
    fn capacity(&self) -> usize;
    fn is_closed(&self) -> bool;
    fn max_len(&self) -> usize;
}

/// A claim.
pub trait Commits: DerefMut<Target = [u8]> + io::Write {
    fn commit(self);
    fn commit_len(self, len: usize);
    fn commit_written(self);
}

/// A receiving side, as [`Claims`].
pub trait Records {
    type Found;
    type Record<'a>: Deref<Target = [u8]>
    where
        Self: 'a;
    /// Whether a pop that finds no record can give room back.
    const CHANGES_IN_VAIN: bool;

    fn reserve(&mut self) -> Result<Self::Found, TryPopError>;
    fn record(&mut self, found: Self::Found) -> Self::Record<'_>;
    fn capacity(&self) -> usize;
    fn is_closed(&self) -> bool;
}

/// The traits of a queue, by its own calls.
macro_rules! queue {
    ($queue:ident of $room:ty, changes in vain: $changes:literal) => {
        impl Claims for $queue::Producer {
            type Room = $room;
            type Claim<'a> = $queue::Claim<'a>;
            const CHANGES_IN_VAIN: bool = $changes;

            #[inline(always)]
            fn allocate(&mut self, len: usize) -> Result<$room, ClaimError> {
                self.allocate(len)
            }

            #[inline(always)]
            fn claimed(&mut self, room: $room) -> Self::Claim<'_> {
                Self::claimed(self, room)
            }

            fn capacity(&self) -> usize {
                self.capacity()
            }

            fn is_closed(&self) -> bool {
                self.is_closed()
            }

            #[inline(always)]
            fn max_len(&self) -> usize {
                self.max_len()
            }
        }

        impl Commits for $queue::Claim<'_> {
            #[inline(always)]
            fn commit(self) {
                self.commit();
            }

            #[inline(always)]
            fn commit_len(self, len: usize) {
                self.commit_len(len);
            }

            #[inline(always)]
            fn commit_written(self) {
                self.commit_written();
            }
        }

        impl Records for $queue::Consumer {
            type Found = $room;
            type Record<'a> = $queue::Record<'a>;
            const CHANGES_IN_VAIN: bool = $changes;

            #[inline(always)]
            fn reserve(&mut self) -> Result<$room, TryPopError> {
                self.reserve()
            }

            #[inline(always)]
            fn record(&mut self, found: $room) -> Self::Record<'_> {
                Self::record(self, found)
            }

            fn capacity(&self) -> usize {
                self.capacity()
            }

            fn is_closed(&self) -> bool {
                self.is_closed()
            }
        }
    };
}

queue!(bytes of (Run, usize), changes in vain: true);
queue!(record_ring of usize, changes in vain: false);

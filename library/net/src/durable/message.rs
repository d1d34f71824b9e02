//! What a message in the store consists of: a head, and items.

use bytes::{BufMut, Bytes, BytesMut};

use crate::protocol::Id;

/// The version of these bytes.
pub(super) const VERSION: u8 = 1;

/// The length of a head's bytes.
pub(super) const HEAD: usize = 1 + 8 + 8 + 4;

/// The beginning of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Head {
    /// The sender that has written the message: a program that starts anew has another one.
    pub(super) writer: Id,
    /// The number of the first item.
    pub(super) first: u64,
    pub(super) count: u32,
}

impl Head {
    /// The number behind the last item.
    pub(super) fn end(self) -> u64 {
        self.first + u64::from(self.count)
    }

    pub(super) fn with(self, items: &[u8]) -> Bytes {
        let mut to = BytesMut::with_capacity(HEAD + items.len());
        to.put_u8(VERSION);
        to.put_u64_le(self.writer);
        to.put_u64_le(self.first);
        to.put_u32_le(self.count);
        to.extend_from_slice(items);
        to.freeze()
    }

    /// The head, and the bytes of the items. `None` if they are not of this version.
    pub(super) fn split(message: &[u8]) -> Option<(Self, &[u8])> {
        let (&version, rest) = message.split_first()?;
        let (writer, rest) = rest.split_first_chunk()?;
        let (first, rest) = rest.split_first_chunk()?;
        let (count, items) = rest.split_first_chunk()?;
        let [writer, first] = [writer, first].map(|bytes| u64::from_le_bytes(*bytes));
        let count = u32::from_le_bytes(*count);
        first.checked_add(count.into())?;
        (version == VERSION).then_some((Self { writer, first, count }, items))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_give_the_same_message() {
        let head = Head { writer: 7, first: 1 << 40, count: 3 };
        let bytes = head.with(b"abc");
        assert_eq!(Head::split(&bytes), Some((head, &b"abc"[..])));
        for len in 0..HEAD {
            assert_eq!(Head::split(&bytes[..len]), None);
        }
        let other = [&[VERSION + 1], &bytes[1..]].concat();
        assert_eq!(Head::split(&other), None);
        assert_eq!(Head::split(&Head { first: u64::MAX, ..head }.with(b"")), None);
    }
}

//! Packets, and their bytes.

use bytes::{BufMut, Bytes, BytesMut};

/// An end: a random number, whose lowest 16 bits are 0. A sender to several receivers numbers its
/// bindings with them.
pub(crate) type Id = u64;

/// The bits of an id that number bindings.
pub(crate) const BINDINGS: Id = 0xFFFF;

/// The version of these bytes.
const VERSION: u8 = 2;

/// What a lane promises, as the ends tell each other. A sender to several receivers promises each
/// of them what a sender to one does, so it has no number of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Guarantee {
    /// In order; the sender's program drops items.
    Latest = 0,
    /// In order; what is lost on the way doesn't come again.
    AtMostOnce = 1,
    /// In order; nothing is lost while both ends live.
    Ordered = 2,
}

/// What both ends must agree on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Terms {
    pub(crate) version: u8,
    pub(crate) guarantee: u8,
    /// A hash of the type's name and length.
    pub(crate) item: u64,
}

impl Terms {
    pub(crate) fn new(guarantee: Guarantee, item: u64) -> Self {
        Self { version: VERSION, guarantee: guarantee as u8, item }
    }

    pub(crate) fn are_at_most_once(self) -> bool {
        self.guarantee == Guarantee::AtMostOnce as u8
    }
}

/// What an end says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Packet {
    /// A sender looks for a receiver.
    Seek { sender: Id, terms: Terms },
    /// A receiver looks for a sender.
    Offer { receiver: Id, terms: Terms },
    /// Items, or none.
    Data(Data),
    /// How far the receiver is.
    Status(Status),
    /// Another end has the place of the end `to`.
    Refused { to: Id },
}

/// Items of a sender for a receiver.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Data {
    pub(crate) sender: Id,
    pub(crate) receiver: Id,
    pub(crate) terms: Terms,
    /// Most items that this sender has sent and that are not taken.
    pub(crate) window: u64,
    /// The first item for this receiver.
    pub(crate) base: u64,
    /// The number of the first item here.
    pub(crate) first: u64,
    pub(crate) count: u32,
    /// There are no items behind these.
    pub(crate) is_last: bool,
    /// The sender waits for a status.
    pub(crate) asks: bool,
    /// The sender's program waits until the items are taken.
    pub(crate) is_awaited: bool,
    pub(crate) items: Bytes,
}

impl Data {
    /// Whether the sender knows all, and asks no more.
    pub(crate) fn is_farewell(&self) -> bool {
        self.is_last && self.count == 0 && !self.asks
    }
}

/// How far a receiver is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Status {
    pub(crate) receiver: Id,
    pub(crate) sender: Id,
    /// It has all items before this one.
    pub(crate) expected: u64,
    /// Its program has taken all items before this one.
    pub(crate) taken: u64,
    /// It has room for all items before this one.
    pub(crate) limit: u64,
    /// An item behind `expected` has come, and was dropped.
    pub(crate) has_gap: bool,
    /// The receiver knows how many items there are.
    pub(crate) knows_end: bool,
    /// The receiver takes no more items.
    pub(crate) is_closed: bool,
}

const SEEK: u8 = 0;
const OFFER: u8 = 1;
const DATA: u8 = 2;
const STATUS: u8 = 3;
const REFUSED: u8 = 4;

/// Up to eight flags in a byte.
fn put_flags(to: &mut BytesMut, flags: &[bool]) {
    to.put_u8(flags.iter().rev().fold(0, |byte, &flag| byte << 1 | u8::from(flag)));
}

impl Packet {
    /// Its bytes, in two parts: the items are not copied.
    pub(crate) fn to_bytes(&self) -> (Bytes, Bytes) {
        let mut to = BytesMut::with_capacity(64);
        let mut items = Bytes::new();
        match self {
            Self::Seek { sender, terms } => {
                to.put_u8(SEEK);
                put_terms(&mut to, *terms);
                to.put_u64_le(*sender);
            }
            Self::Offer { receiver, terms } => {
                to.put_u8(OFFER);
                put_terms(&mut to, *terms);
                to.put_u64_le(*receiver);
            }
            Self::Data(data) => {
                to.put_u8(DATA);
                put_terms(&mut to, data.terms);
                to.put_u64_le(data.sender);
                to.put_u64_le(data.receiver);
                to.put_u64_le(data.window);
                to.put_u64_le(data.base);
                to.put_u64_le(data.first);
                to.put_u32_le(data.count);
                put_flags(&mut to, &[data.is_last, data.asks, data.is_awaited]);
                items = data.items.clone();
            }
            Self::Status(status) => {
                to.put_u8(STATUS);
                to.put_u64_le(status.receiver);
                to.put_u64_le(status.sender);
                to.put_u64_le(status.expected);
                to.put_u64_le(status.taken);
                to.put_u64_le(status.limit);
                put_flags(&mut to, &[status.has_gap, status.knows_end, status.is_closed]);
            }
            Self::Refused { to: end } => {
                to.put_u8(REFUSED);
                to.put_u64_le(*end);
            }
        }
        (to.freeze(), items)
    }

    /// `None` if the bytes are no packet of this version.
    pub(crate) fn from_bytes(bytes: Bytes) -> Option<Self> {
        let mut reader = Reader(&bytes);
        let packet = match reader.u8()? {
            SEEK => Self::Seek { terms: reader.terms()?, sender: reader.u64()? },
            OFFER => Self::Offer { terms: reader.terms()?, receiver: reader.u64()? },
            DATA => {
                let terms = reader.terms()?;
                let (sender, receiver) = (reader.u64()?, reader.u64()?);
                let (window, base) = (reader.u64()?, reader.u64()?);
                let (first, count) = (reader.u64()?, reader.u32()?);
                let [is_last, asks, is_awaited] = reader.flags()?;
                let items = bytes.slice(bytes.len() - reader.0.len()..);
                first.checked_add(count.into())?;
                Self::Data(Data {
                    sender,
                    receiver,
                    terms,
                    window,
                    base,
                    first,
                    count,
                    is_last,
                    asks,
                    is_awaited,
                    items,
                })
            }
            STATUS => {
                let (receiver, sender) = (reader.u64()?, reader.u64()?);
                let (expected, taken, limit) = (reader.u64()?, reader.u64()?, reader.u64()?);
                let [has_gap, knows_end, is_closed] = reader.flags()?;
                Self::Status(Status {
                    receiver,
                    sender,
                    expected,
                    taken,
                    limit,
                    has_gap,
                    knows_end,
                    is_closed,
                })
            }
            REFUSED => Self::Refused { to: reader.u64()? },
            _ => return None,
        };
        Some(packet)
    }
}

fn put_terms(to: &mut BytesMut, terms: Terms) {
    to.put_u8(terms.version);
    to.put_u8(terms.guarantee);
    to.put_u64_le(terms.item);
}

struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (array, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*array)
    }

    fn u8(&mut self) -> Option<u8> {
        self.array().map(u8::from_le_bytes)
    }

    fn flags<const N: usize>(&mut self) -> Option<[bool; N]> {
        let byte = self.u8()?;
        Some(std::array::from_fn(|i| byte >> i & 1 == 1))
    }

    fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    fn terms(&mut self) -> Option<Terms> {
        Some(Terms { version: self.u8()?, guarantee: self.u8()?, item: self.u64()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_give_the_same_packet() {
        let terms = Terms::new(Guarantee::Ordered, 77);
        let items = Bytes::from_static(b"items");
        let packets = [
            Packet::Seek { sender: 1, terms },
            Packet::Offer { receiver: 2, terms },
            Packet::Data(Data {
                sender: 1,
                receiver: 2,
                terms,
                window: 10,
                base: 3,
                first: 4,
                count: 5,
                is_last: true,
                asks: false,
                is_awaited: true,
                items,
            }),
            Packet::Status(Status {
                receiver: 2,
                sender: 1,
                expected: 9,
                taken: 8,
                limit: 12,
                has_gap: true,
                knows_end: false,
                is_closed: true,
            }),
            Packet::Refused { to: 6 },
        ];
        for packet in packets {
            let (head, items) = packet.to_bytes();
            let all = Bytes::from([head, items].concat());
            assert_eq!(Packet::from_bytes(all.clone()), Some(packet.clone()));
            let has_items = matches!(packet, Packet::Data(_));
            for len in 0..all.len() - if has_items { 5 } else { 0 } {
                assert_eq!(Packet::from_bytes(all.slice(..len)), None, "{packet:?} cut to {len}");
            }
        }
        assert_eq!(Packet::from_bytes(Bytes::from_static(&[9; 100])), None);
    }
}

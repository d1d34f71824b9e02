//! Ethernet addresses.

use std::fmt;

/// An Ethernet address.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Mac(u64);

impl Mac {
    /// All stations.
    pub const BROADCAST: Self = Self(0xffff_ffff_ffff);

    /// A locally administered address for station `number`.
    pub const fn local(number: u32) -> Self {
        Self(0x0200_0000_0000 | number as u64)
    }

    /// The address in these bytes.
    #[inline]
    pub fn from_bytes([a, b, c, d, e, f]: [u8; 6]) -> Self {
        Self(u64::from_be_bytes([0, 0, a, b, c, d, e, f]))
    }

    /// The bytes of the address.
    #[inline]
    pub fn to_bytes(self) -> [u8; 6] {
        let [_, _, bytes @ ..] = self.0.to_be_bytes();
        bytes
    }

    /// Whether it stands for several stations: a broadcast or a multicast.
    #[inline]
    pub fn is_group(self) -> bool {
        self.0 & 0x0100_0000_0000 != 0
    }
}

impl fmt::Display for Mac {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, g] = self.to_bytes();
        write!(f, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{g:02x}")
    }
}

impl fmt::Debug for Mac {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_bit_on_the_wire_marks_groups() {
        assert!(Mac::BROADCAST.is_group());
        assert!(Mac::from_bytes([0x33, 0x33, 0, 0, 0, 1]).is_group());
        assert!(!Mac::local(7).is_group());
        assert_eq!(Mac::from_bytes(Mac::local(7).to_bytes()), Mac::local(7));
        assert_eq!(Mac::local(0x0a0b).to_string(), "02:00:00:00:0a:0b");
    }
}

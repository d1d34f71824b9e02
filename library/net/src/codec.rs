//! How items become bytes.

use std::any::type_name;
use std::fmt;

use bytes::Bytes;
use zerocopy::{FromBytes, Immutable, IntoBytes};

/// How items of type `T` become bytes, and bytes items.
#[diagnostic::on_unimplemented(
    message = "`{Self}` doesn't make bytes of `{T}`",
    note = "`lane` takes numbers, and types with zerocopy's derives `FromBytes`, `IntoBytes` and `Immutable`",
    note = "`records` takes `Vec<u8>` and `Bytes`",
    note = "for a type of serde's: `lane_by::<_, Postcard>`, with feature `serde` of corelane-net"
)]
pub trait Codec<T>: 'static {
    /// The length of each item's bytes, if all have the same.
    const LEN: Option<usize>;

    /// The name of the type: both ends must have the same, else their lane ends with
    /// [`End::Differs`](crate::End::Differs). A codec that changes its bytes takes another name, such as one
    /// with a version.
    fn name() -> String;

    /// Appends the bytes of an item.
    fn encode(item: &T, to: &mut Vec<u8>);

    /// The item of these bytes.
    ///
    /// # Errors
    ///
    /// If they are the bytes of no item.
    fn decode(bytes: &[u8]) -> Result<T, Malformed>;

    /// As [`decode`](Self::decode), for bytes that are part of a packet, which the item may share.
    ///
    /// # Errors
    ///
    /// As there.
    fn decode_shared(bytes: &[u8], packet: &Bytes) -> Result<T, Malformed> {
        let _ = packet;
        Self::decode(bytes)
    }
}

/// Bytes that are no item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Malformed;

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the bytes are no item of this type")
    }
}

impl std::error::Error for Malformed {}

/// Plain data: the bytes are those in memory.
///
/// Both ends compare the type's name, without its modules, and its length. Two types of the same name and
/// length, but with other fields, are not noticed: rename a type whose fields change.
#[derive(Debug, Clone, Copy)]
pub struct Plain;

#[diagnostic::do_not_recommend]
impl<T: IntoBytes + FromBytes + Immutable + 'static> Codec<T> for Plain {
    const LEN: Option<usize> = Some(size_of::<T>());

    fn name() -> String {
        format!("{} of {} bytes", short_name::<T>(), size_of::<T>())
    }

    fn encode(item: &T, to: &mut Vec<u8>) {
        to.extend_from_slice(item.as_bytes());
    }

    fn decode(bytes: &[u8]) -> Result<T, Malformed> {
        T::read_from_bytes(bytes).map_err(|_| Malformed)
    }
}

/// A type's name without the modules, which other programs name differently.
fn short_name<T>() -> String {
    let is_of_word = |c: char| c.is_alphanumeric() || c == '_';
    let name = type_name::<T>();
    let (before, last) = name.rsplit_once("::").unwrap_or(("", name));
    before.split("::").map(|part| part.trim_end_matches(is_of_word)).collect::<String>() + last
}

/// From this length on, a record shares its packet's bytes. A small one would keep too many.
const SHARED: usize = 4 << 10;

/// Bytes of any length. Those of 4 KiB and more that are received as [`Bytes`] are not copied: as long
/// as one of them is there, the whole packet is, of up to 240 KiB or a record. Through
/// shared memory, it has up to 480 KiB.
#[derive(Debug, Clone, Copy)]
pub struct Records;

impl Codec<Bytes> for Records {
    const LEN: Option<usize> = None;

    fn name() -> String {
        "bytes".into()
    }

    fn encode(item: &Bytes, to: &mut Vec<u8>) {
        to.extend_from_slice(item);
    }

    fn decode(bytes: &[u8]) -> Result<Bytes, Malformed> {
        Ok(Bytes::copy_from_slice(bytes))
    }

    fn decode_shared(bytes: &[u8], packet: &Bytes) -> Result<Bytes, Malformed> {
        match bytes.len() {
            0..SHARED => Self::decode(bytes),
            _ => Ok(packet.slice_ref(bytes)),
        }
    }
}

impl Codec<Vec<u8>> for Records {
    const LEN: Option<usize> = None;

    fn name() -> String {
        "bytes".into()
    }

    fn encode(item: &Vec<u8>, to: &mut Vec<u8>) {
        to.extend_from_slice(item);
    }

    fn decode(bytes: &[u8]) -> Result<Vec<u8>, Malformed> {
        Ok(bytes.to_vec())
    }
}

/// Any type of serde's, in the format of [postcard](https://docs.rs/postcard). With feature `serde`.
///
/// Both ends compare the type's name, without its modules. Two types of the same name, but with other fields,
/// are not noticed: rename a type whose fields change, or write a [`Codec`] whose [name](Codec::name) has a
/// version.
///
/// ```
/// # use corelane_net::{Codec, Postcard};
/// #[derive(serde::Serialize, serde::Deserialize)]
/// enum Job {
///     Render { page: u32, title: String },
///     Stop,
/// }
/// let mut bytes = Vec::new();
/// Postcard::encode(&Job::Render { page: 7, title: "Contents".into() }, &mut bytes);
/// assert_eq!(bytes.len(), 11);
/// assert!(matches!(Postcard::decode(&bytes), Ok(Job::Render { page: 7, .. })));
/// ```
#[cfg(feature = "serde")]
#[derive(Debug, Clone, Copy)]
pub struct Postcard;

#[cfg(feature = "serde")]
impl<T: serde::Serialize + serde::de::DeserializeOwned + 'static> Codec<T> for Postcard {
    const LEN: Option<usize> = None;

    fn name() -> String {
        format!("{} by postcard", short_name::<T>())
    }

    /// # Panics
    ///
    /// If the type refuses to be written.
    fn encode(item: &T, to: &mut Vec<u8>) {
        let written = postcard::to_extend(item, std::mem::take(to));
        *to = written.expect("its type can be written");
    }

    fn decode(bytes: &[u8]) -> Result<T, Malformed> {
        match postcard::take_from_bytes(bytes) {
            Ok((item, [])) => Ok(item),
            _ => Err(Malformed),
        }
    }
}

/// Appends an item to a packet: with its length before it, unless all have the same.
pub(crate) fn put<T, C: Codec<T>>(item: &T, to: &mut Vec<u8>) {
    if C::LEN.is_some() {
        return C::encode(item, to);
    }
    let at = to.len();
    to.extend_from_slice(&[0; 4]);
    C::encode(item, to);
    let len = u32::try_from(to.len() - at - 4).expect("an item is below 4 GiB");
    to[at..at + 4].copy_from_slice(&len.to_le_bytes());
}

/// Takes the bytes of the next item out of a packet.
pub(crate) fn split<'a, T, C: Codec<T>>(packet: &mut &'a [u8]) -> Result<&'a [u8], Malformed> {
    let len = match C::LEN {
        Some(len) => len,
        None => {
            let (len, rest) = packet.split_first_chunk().ok_or(Malformed)?;
            *packet = rest;
            u32::from_le_bytes(*len) as usize
        }
    };
    let (item, rest) = packet.split_at_checked(len).ok_or(Malformed)?;
    *packet = rest;
    Ok(item)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_no_modules_and_differ() {
        assert_eq!(short_name::<u64>(), "u64");
        assert_eq!(short_name::<Malformed>(), "Malformed");
        assert_eq!(short_name::<Vec<String>>(), "Vec<String>");
        assert_eq!(short_name::<Option<String>>(), "Option<String>");
        assert_eq!(short_name::<(bool, Vec<[Malformed; 2]>)>(), "(bool, Vec<[Malformed; 2]>)");
    }
}

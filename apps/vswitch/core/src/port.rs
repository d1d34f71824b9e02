//! What the switch knows of ports and packets.

use std::collections::VecDeque;

use crate::mac::Mac;

/// An Ethernet packet that its holder owns.
pub trait Packet: Sized {
    /// Destination and source.
    fn addresses(&self) -> [Mac; 2];

    /// Its length in bytes.
    fn bytes(&self) -> usize;

    /// One more owner of the same packet.
    fn share(&self) -> Self;

    /// Gives the packet up: no port takes it.
    fn discard(self) {}
}

/// The switch's side of a port. Neither call waits.
pub trait Port {
    /// The packets that it carries.
    type Packet: Packet;

    /// Moves up to `most` packets that the client has sent to the end of `into`, in their order.
    fn pull(&mut self, most: usize, into: &mut Vec<Self::Packet>);

    /// Moves packets from the front of `from` to the client, as many as there is room for.
    fn push(&mut self, from: &mut VecDeque<Self::Packet>);
}

impl<P: Port + ?Sized> Port for Box<P> {
    type Packet = P::Packet;

    fn pull(&mut self, most: usize, into: &mut Vec<P::Packet>) {
        (**self).pull(most, into);
    }

    fn push(&mut self, from: &mut VecDeque<P::Packet>) {
        (**self).push(from);
    }
}

//! A port: a queue to the switch, and a queue from it.

use std::collections::VecDeque;

use corelane::{CapacityError, Config, Consumer, Producer, Queue};
use vswitch_core::{Frame, Port};

use crate::payload::Parcel;

/// One side of a port. In a box, so that the switch and its clients are compiled once for all
/// queues. A call of it moves a batch.
pub(crate) type Side = Box<dyn Port<Packet = Frame> + Send>;

/// Makes both sides of a port: the switch's and the client's.
pub(crate) type Wire = fn(Config) -> Result<[Side; 2], CapacityError>;

/// Most packets of a call.
const SLICE: usize = 32;

/// Both sides of a port with such queues.
pub(crate) fn wire<Q>(config: Config) -> Result<[Side; 2], CapacityError>
where
    Q: Queue<Parcel, Producer: Send + 'static, Consumer: Send + 'static>,
{
    let (to_switch, from_client) = Q::with(config)?;
    let (to_client, from_switch) = Q::with(config)?;
    let of_switch = Ends { tx: to_client, rx: from_client, parcels: [Parcel::dangling(); SLICE] };
    let of_client = Ends { tx: to_switch, rx: from_switch, parcels: [Parcel::dangling(); SLICE] };
    Ok([Box::new(of_switch), Box::new(of_client)])
}

/// The handles of a side.
struct Ends<P, C: Consumer<Item = Parcel>> {
    tx: P,
    rx: C,
    /// What is between the queue and the lists of packets.
    parcels: [Parcel; SLICE],
}

impl<P: Producer<Item = Parcel>, C: Consumer<Item = Parcel>> Port for Ends<P, C> {
    type Packet = Frame;

    fn pull(&mut self, most: usize, into: &mut Vec<Frame>) {
        let mut left = most;
        while left > 0 {
            let wanted = left.min(SLICE);
            let popped = self.rx.pop_slice(&mut self.parcels[..wanted]);
            // SAFETY: `push` has made it of a frame, and the queue gives it once.
            into.extend(self.parcels[..popped].iter().map(|parcel| unsafe { parcel.into_frame() }));
            if popped < wanted {
                return;
            }
            left -= popped;
        }
    }

    fn push(&mut self, from: &mut VecDeque<Frame>) {
        let before = from.len();
        while !from.is_empty() {
            let count = from.len().min(SLICE);
            for (parcel, frame) in self.parcels.iter_mut().zip(from.drain(..count)) {
                *parcel = Parcel::of_frame(frame);
            }
            let pushed = self.tx.push_slice(&self.parcels[..count]);
            for parcel in self.parcels[pushed..count].iter().rev() {
                // SAFETY: it was made above, and the queue has not taken it.
                from.push_front(unsafe { parcel.into_frame() });
            }
            if pushed < count {
                break;
            }
        }
        if from.len() < before {
            // Of queues that publish late.
            self.tx.flush();
        }
    }
}

impl<P, C: Consumer<Item = Parcel>> Drop for Ends<P, C> {
    /// Frees the packets in the queue. The other side pushes no more.
    fn drop(&mut self) {
        while let Ok(parcel) = self.rx.try_pop() {
            // SAFETY: as in `pull`.
            drop(unsafe { parcel.into_frame() });
        }
    }
}

//! Which address is at which port.

use hashbrown::HashMap;

use crate::mac::Mac;

/// The addresses that the switch has learned. Times are milliseconds of the switch's clock.
#[derive(Debug)]
pub struct Table {
    places: HashMap<Mac, Place>,
    /// How long an address is known after its last packet.
    age: u64,
    /// Most addresses. A flood of made-up addresses takes no more memory.
    most: usize,
}

#[derive(Debug)]
struct Place {
    port: usize,
    /// When a packet came from there.
    seen: u64,
}

impl Table {
    /// A table that forgets addresses after `age`, and has room for `most` of them.
    pub fn new(age: u64, most: usize) -> Self {
        Self { places: HashMap::new(), age, most }
    }

    /// Notes that a packet from `address` came through `port`.
    pub fn learn(&mut self, address: Mac, port: usize, now: u64) {
        if let Some(place) = self.places.get_mut(&address) {
            *place = Place { port, seen: now };
        } else if !address.is_group() && self.places.len() < self.most {
            self.places.insert(address, Place { port, seen: now });
        }
    }

    /// The port at which `address` was seen last, unless that is too long ago.
    #[inline]
    pub fn find(&self, address: Mac, now: u64) -> Option<usize> {
        let place = self.places.get(&address)?;
        (now <= place.seen + self.age).then_some(place.port)
    }

    /// Forgets addresses that are too old: they give room to others.
    pub fn expire(&mut self, now: u64) {
        self.places.retain(|_, place| now <= place.seen + self.age);
    }

    /// Forgets the addresses at a port.
    pub fn forget(&mut self, port: usize) {
        self.places.retain(|_, place| place.port != port);
    }

    /// Number of addresses.
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Whether no address is known.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_moves_and_is_forgotten() {
        let mut table = Table::new(100, 2);
        let [a, b, c] = [1, 2, 3].map(Mac::local);
        table.learn(a, 0, 0);
        table.learn(b, 1, 50);
        table.learn(c, 2, 50);
        assert_eq!([a, b, c].map(|mac| table.find(mac, 100)), [Some(0), Some(1), None], "full");
        table.learn(a, 5, 60);
        assert_eq!(table.find(a, 160), Some(5), "it has moved");
        assert_eq!(table.find(b, 151), None, "it is too old");
        table.expire(151);
        table.learn(c, 2, 151);
        assert_eq!(table.find(c, 151), Some(2), "there is room again");
        table.forget(2);
        assert_eq!((table.len(), table.is_empty()), (1, false));
    }

    #[test]
    fn groups_are_nowhere() {
        let mut table = Table::new(100, 2);
        table.learn(Mac::BROADCAST, 0, 0);
        assert_eq!(table.find(Mac::BROADCAST, 0), None);
    }
}

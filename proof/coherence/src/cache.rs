//! The lines in a core's private cache.

use crate::machine::PrivateCache;

/// The lines that a core used last, by set.
#[derive(Debug)]
pub(crate) struct Cache {
    ways: usize,
    /// In each set the least recently used line comes first.
    sets: Vec<Vec<usize>>,
    last: Option<usize>,
}

impl Cache {
    /// An empty cache for lines of `line` bytes.
    pub(crate) fn new(size: PrivateCache, line: usize) -> Self {
        Self { ways: size.ways, sets: vec![Vec::new(); size.sets(line)], last: None }
    }

    /// Notes that `line` is used. If it replaces another line, returns that: a line that the core
    /// no longer has, or else the least recently used line.
    pub(crate) fn take_in(&mut self, line: usize, has: impl Fn(usize) -> bool) -> Option<usize> {
        if self.last.replace(line) == Some(line) {
            return None;
        }
        let number = line % self.sets.len();
        let set = &mut self.sets[number];
        if let Some(at) = set.iter().rposition(|other| *other == line) {
            set[at..].rotate_left(1);
            return None;
        }
        set.push(line);
        if set.len() <= self.ways {
            return None;
        }
        let others = &set[..self.ways];
        let goes = others.iter().position(|other| !has(*other)).unwrap_or(0);
        Some(set.remove(goes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_recently_used_line_of_a_set_goes() {
        let size = PrivateCache { bytes: 4 * 64, ways: 2 };
        let mut cache = Cache::new(size, 64);
        let mut take_in = |line| cache.take_in(line, |_| true);
        assert_eq!([0, 2, 1, 0].map(&mut take_in), [None; 4]);
        assert_eq!(take_in(4), Some(2));
        assert_eq!(take_in(2), Some(0));
        assert_eq!([1, 3].map(take_in), [None; 2]);
        assert_eq!(cache.take_in(6, |line| line != 2), Some(2));
    }
}

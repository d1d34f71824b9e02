//! 2 times error[E0277]: is not plain data

use corelane::overwrite;

#[derive(Clone, Copy)]
struct Padded {
    _time: u64,
    _source: u8,
}

fn main() {
    overwrite::queue::<Padded>(8).unwrap();
    overwrite::queue::<(u64, u8)>(8).unwrap();
}

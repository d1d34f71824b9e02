//! The bytes of lanes, as docs/lane-bytes.md describes them for other languages. They are kept in
//! `docs/lane-bytes`: `CORELANE_LANE_BYTES=write cargo test -p corelane --test lane_bytes` writes
//! them anew. A change of them is a new version of the layout.
#![cfg(target_os = "linux")]

use std::fmt::Write;
use std::fs::{self, File};
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;
use std::path::Path;

use corelane::shm::{Broadcast, Carried, Item, Lane, Lanes};

/// All words of the lane's file that are not 0: offset and value.
fn image<T: Carried + ?Sized>(lane: &Lane<T>) -> String {
    let file = File::from(lane.as_fd().try_clone_to_owned().unwrap());
    let len = file.metadata().unwrap().len();
    let mut text = format!("length {len}\n");
    for at in (0..len).step_by(8) {
        let mut word = [0; 8];
        file.read_exact_at(&mut word, at).unwrap();
        if word != [0; 8] {
            writeln!(text, "{at} {:016x}", u64::from_le_bytes(word)).unwrap();
        }
    }
    text
}

/// Checks the image of a lane, after what was done with it.
fn check<T: Carried + ?Sized>(name: &str, done: &str, lane: &Lane<T>) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/lane-bytes");
    let (path, text) = (folder.join(name), format!("{done}\n{}", image(lane)));
    if std::env::var("CORELANE_LANE_BYTES").is_ok_and(|what| what == "write") {
        fs::create_dir_all(&folder).unwrap();
        fs::write(&path, &text).unwrap();
    }
    // A published package has no such folder.
    if !folder.exists() {
        println!("left out: there is no {}", folder.display());
        return;
    }
    assert_eq!(fs::read_to_string(path).unwrap(), text, "{name}: see docs/lane-bytes.md");
}

/// A lane for items whose first 8 bytes are their number, after some pushes and pops.
fn items<T: Item>(name: &str, capacity: usize, [pushed, popped]: [u64; 2], item: fn(u64) -> T) {
    let lane = Lane::<T>::create(capacity).unwrap();
    let (mut tx, mut rx) = (lane.producer().unwrap(), lane.consumer().unwrap());
    for number in 0..pushed {
        // At most ten are inside.
        if number >= 10 && number - 10 < popped {
            rx.try_pop().unwrap();
        }
        tx.try_push(item(number)).unwrap();
    }
    while rx.position() < popped {
        rx.try_pop().unwrap();
    }
    let size = size_of::<T>();
    let done = format!(
        "lane for {capacity} items of {size} bytes, the first 8 of which are the item's number from \
         1 on, and the others 0; {pushed} pushed, {popped} popped, both sides taken"
    );
    check(name, &done, &lane);
}

#[test]
fn items_of_several_sizes() {
    items("items-8", 100, [10, 3], |number| number + 1);
    items("items-8-laps", 100, [1000, 995], |number| number + 1);
    items("items-4", 100, [20, 17], |number| number as u32 + 1);
    items("items-16", 100, [10, 3], |number| [number + 1, 0]);
    items("items-24", 100, [10, 3], |number| [number + 1, 0, 0]);
    items("items-32", 100, [10, 3], |number| [number + 1, 0, 0, 0]);
    items("items-64-laps", 20, [100, 95], |number| [number + 1, 0, 0, 0, 0, 0, 0, 0]);
    items("items-1600", 20, [10, 3], |number| {
        let mut item = [0; 200];
        item[0] = number + 1;
        item
    });
}

#[test]
fn byte_records() {
    for (name, rounds) in [("records", 1), ("records-laps", 5)] {
        let lane = Lane::<[u8]>::create(4096).unwrap();
        let (mut tx, mut rx) = (lane.producer().unwrap(), lane.consumer().unwrap());
        for round in 0..rounds {
            for len in [0, 5, 100, 600] {
                tx.try_push(&vec![0x55; len]).unwrap();
            }
            (0..if round + 1 == rounds { 2 } else { 4 }).for_each(|_| drop(rx.try_pop().unwrap()));
        }
        let done = format!(
            "lane for records, capacity 4096; {rounds} times records of 0, 5, 100 and 600 bytes \
             0x55 pushed, all popped but for the last two, both sides taken"
        );
        check(name, &done, &lane);
    }
}

#[test]
fn lanes_of_several_producers() {
    let lanes = Lanes::<[u64; 2]>::create_for_producers(3, 8).unwrap();
    let mut producers = [lanes.producer().unwrap(), lanes.producer().unwrap()];
    let mut rx = lanes.consumer().unwrap();
    for number in 1..=5 {
        producers[0].try_push([number, 0]).unwrap();
        producers[1].try_push([100 + number, 0]).unwrap();
    }
    (0..3).for_each(|_| _ = rx.try_pop().unwrap());
    let done = "lanes for 3 producers and 8 items of 16 bytes, of which the first 8 are a number and \
                the others 0; by two producers 1 to 5 and 101 to 105 pushed, 3 popped by the only \
                consumer";
    check("lanes-16", done, &lanes);
}

#[test]
fn broadcast() {
    let lane = Broadcast::<[u64; 2]>::create(8).unwrap();
    let mut tx = lane.producer().unwrap();
    let _rx = lane.consumer().unwrap();
    (1..=20).for_each(|number| tx.push([number, 0]).unwrap());
    let done = "broadcast lane for 8 items of 16 bytes, of which the first 8 are a number and the \
                others 0; 1 to 20 pushed, both sides taken";
    check("broadcast-16", done, &lane);
}

//! Real captures: the flows are those that were checked by hand and by another program.
//!
//! The captures are no part of the repository: see `expected/README.md`.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use pipeline::{Captures, Named, Settings, json, run};

/// Where the captures are, if they are here.
fn captures() -> Option<PathBuf> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/pcap");
    let path = env::var_os("CORELANE_PCAP").map_or(beside, PathBuf::from);
    path.is_dir().then_some(path)
}

#[test]
fn flows_are_as_expected() {
    let Some(captures) = captures() else {
        println!("skipped: no captures; CORELANE_PCAP names the folder that has them");
        return;
    };
    let expected = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/expected");
    let names = fs::read_dir(expected).expect("it is part of the package");
    let names = names.map(|entry| entry.expect("it can be read").path());
    for expected in names.filter(|path| path.extension().is_some_and(|end| end == "json")) {
        let name = expected.file_stem().expect("it has a name").to_string_lossy();
        let file = captures.join(format!("{name}.pcap"));
        let mut packets = Captures::open(&[file], || false).expect("it is a capture");
        let settings = Settings { threads: 2, ..Settings::default() };
        let report = run(&Named::usual(), &mut packets, &settings, |_| {});
        assert_eq!(packets.faults(), [""; 0]);
        let expected = fs::read_to_string(&expected).expect("it is text");
        // Too long for a message of its own.
        assert!(json(&report.expect("the capacity is usual")) == expected, "{name} has changed");
    }
}

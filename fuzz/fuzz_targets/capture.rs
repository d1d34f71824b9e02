//! Random captures: reading ends without a panic, and returns packets or an error of one line.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    match corelane_capture::read(bytes) {
        // The shortest packet is a record of 16 bytes.
        Ok(packets) => assert!((1..=bytes.len() / 16).contains(&packets.len())),
        Err(error) => assert!(!error.to_string().contains('\n')),
    }
});

//! Random calls on a queue of byte records: every answer is compared with a model.

#![no_main]

use corelane_conformance::bytes::calls::Case;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    Case::decode(bytes).run().expect("small queues can be made");
});

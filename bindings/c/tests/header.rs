//! The header is what cbindgen makes of the functions.

use std::path::Path;
use std::{env, fs};

/// For C's readers, before all declarations.
const ABOUT: &str = "\
/* corelane: concurrent queues between threads and processes.
 *
 * Handles. A thread uses a queue through a handle, which belongs to one thread at a time. It may be
 * given to another thread in any way that makes this thread's writes visible to the other one, such
 * as a mutex or pthread_create. A close sets the caller's pointer to NULL, so a second close does
 * nothing. NULL instead of a handle is answered, and does no harm.
 *
 * Items are bytes that the queue copies. It never looks into them, and frees nothing that they point
 * to.
 *
 * Timeouts are nanoseconds: 0 doesn't wait, CORELANE_FOREVER has no limit.
 *
 * What ends the process: more than 65,536 handles of a side, and no memory for a handle, which takes
 * less than a kilobyte. No exception and no longjmp leaves a call.
 *
 * Written by cbindgen: change the functions in src instead. */
";

fn made() -> String {
    let mut config = cbindgen::Config {
        language: cbindgen::Language::C,
        cpp_compat: true,
        style: cbindgen::Style::Type,
        header: Some(ABOUT.to_owned()),
        include_guard: Some("CORELANE_H".to_owned()),
        documentation_style: cbindgen::DocumentationStyle::C99,
        line_length: 100,
        usize_is_size_t: true,
        no_includes: true,
        sys_includes: ["stdbool.h", "stddef.h", "stdint.h"].map(String::from).to_vec(),
        ..Default::default()
    };
    config.enumeration.rename_variants = cbindgen::RenameRule::QualifiedScreamingSnakeCase;
    let names = [
        "Status",
        "Kind",
        "Producer",
        "Consumer",
        "Strategy",
        "Peer",
        "RecordProducer",
        "RecordConsumer",
        "Lane",
        "LaneKind",
        "Carried",
        "Listener",
        "Worker",
        "Stealer",
        "Order",
    ];
    for name in names {
        let words = name
            .chars()
            .flat_map(|c| c.is_uppercase().then_some('_').into_iter().chain(c.to_lowercase()));
        config
            .export
            .rename
            .insert(name.to_owned(), format!("corelane{}", words.collect::<String>()));
    }
    let mut header = Vec::new();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let builder = cbindgen::Builder::new().with_config(config).with_src(folder.join("src/lib.rs"));
    let builder = ["status", "handle", "queue", "record", "lane", "steal"]
        .iter()
        .fold(builder, |builder, name| builder.with_src(folder.join(format!("src/{name}.rs"))));
    builder.generate().expect("the functions can be called by C").write(&mut header);
    String::from_utf8(header).expect("text")
}

#[test]
fn the_header_is_that_of_the_functions() {
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("include/corelane.h");
    let made = made();
    if env::var("CORELANE_HEADER").is_ok_and(|what| what == "write") {
        fs::write(&kept, &made).expect("it can be written");
    }
    let kept = fs::read_to_string(kept).expect("the header is there");
    assert!(
        kept == made,
        "the header is not that of the functions: CORELANE_HEADER=write cargo test -p corelane-c --test header"
    );
}

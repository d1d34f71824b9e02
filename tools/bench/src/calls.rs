//! The calls that make the queues that a program should try first.

/// The calls with the ids of their queues. Each must be there.
macro_rules! calls {
    ($($id:literal: $($part:ident)::+;)*) => {
        $(#[allow(unused_imports)] use corelane::$($part)::+ as _;)*

        /// The queues that a program should try first: their ids, and the functions that make them.
        pub const CALLS: &[(&str, &str)] = &[$(($id, path!($($part)::+)),)*];
    };
}

/// The path as people write it.
macro_rules! path {
    ($first:ident $(:: $part:ident)*) => {
        concat!(stringify!($first) $(, "::", stringify!($part))*)
    };
}

calls! {
    "linering": spsc::queue;
    "blq": spsc::chunk_queue;
    "uspsc": spsc::unbounded_queue;
    "leased": mpmc::queue;
    "lprq": mpmc::unbounded_queue;
    "bbq-mpsc": mpsc::queue;
    "bbq-spmc": spmc::queue;
    "seqring": overwrite::queue;
    "recordring": record_ring::queue;
    "bbq-bytes": bytes::queue;
    "bwos-lifo": steal::lifo;
    "bwos-fifo": steal::fifo;
}

/// The function that makes the queue `id`, which is in `module`.
pub fn call(id: &str, module: &str) -> String {
    let known = CALLS.iter().find(|(known, _)| *known == id);
    known.map_or_else(|| format!("{module}::queue"), |(_, call)| (*call).to_owned())
}

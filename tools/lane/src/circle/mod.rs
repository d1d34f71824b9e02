//! `lane bench ring`: threads in a circle, each of which copies what it gets and passes it on: the micro-kernel of paper 4,
//! §5. A circle here, as `ring` is a queue.

mod kernel;
mod plan;
mod suite;

pub(crate) use kernel::Kernel;
pub(crate) use suite::Circle;

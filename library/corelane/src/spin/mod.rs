//! Short waits of calls that never sleep. Calls that sleep are in [`wait`](crate::wait).

mod backoff;
mod distance;
mod retries;

pub(crate) use backoff::Backoff;
pub(crate) use distance::Distance;
pub(crate) use retries::Retries;

//! What needs the catalogue of all queues, with their kernels: not in unit tests, for which the
//! compiler would make the kernels again.

mod advice;
mod conclusion;
mod entries;
mod kernels;
mod plans;

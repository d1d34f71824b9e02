//! Checks that models find the bugs that they must find, and see the accesses that they must see.

mod explore;
mod seeded;

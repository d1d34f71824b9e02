//! That models find what they are to find, and see what they are to see.

mod explore;
mod seeded;

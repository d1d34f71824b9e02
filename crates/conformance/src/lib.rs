//! What every queue must do, written once.

//! The server as its clients see it.
#![allow(clippy::expect_used, clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]

mod support;
mod tables;

mod deletion;
mod requests;
mod scale;
mod serving;
mod writes;

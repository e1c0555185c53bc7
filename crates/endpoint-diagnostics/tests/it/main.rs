//! Tests of the reports.

mod cluster;
mod random;
mod reasons;

//! Tests of the reports.

mod cluster;
mod documents;
mod random;
mod reasons;

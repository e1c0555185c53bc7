//! The table of kinds: one entry each, with its names, its schema type and its rules.

mod allocation;
mod checks;
pub(crate) mod content;
mod endpoints;
mod endpointslice;
mod event;
mod field;
mod go;
mod ip;
pub(crate) mod label_selector;
mod lease;
mod metadata;
mod namespace;
mod node;
mod pod;
mod service;
mod service_account;
mod strategy;
mod table;
#[cfg(test)]
mod tests;
pub(crate) mod tree;
mod workload;
mod write;

pub(crate) use allocation::{Allocators, Ranges};
pub(crate) use field::{Errors, Path};
pub(crate) use metadata::{field_manager, fit_namespace, next_generation, timestamp};
pub(crate) use pod::bind;
pub(crate) use strategy::{Cluster, Kind, Scope, Subresource};
pub(crate) use table::KINDS;
pub(crate) use write::{Prepared, before_create, before_update};

// The first definition of a link counts: in the documentation, these replace those at the end of the README.
//! [`controller-kit`]: controller_kit
//! [`endpointslice`]: endpointslice
//! [`list_watch`]: list_watch
//! [`cache`]: cache
//! [`resource`]: resource
//! [`kinds`]: kinds
//! [`slices`]: slices
//! [`repairs`]: repairs
//! [`pending`]: pending
//! [`custom`]: custom
//! [`controller`]: controller
//! [`manager`]: manager
//! [`reconciler`]: reconciler
//! [`lifecycle`]: lifecycle
#![doc = include_str!("../README.md")]

pub mod cache;
pub mod controller;
pub mod custom;
mod disruption;
pub mod kinds;
pub mod lifecycle;
pub mod list_watch;
pub mod manager;
pub mod pending;
mod queries;
pub mod reconciler;
pub mod repairs;
pub mod resource;
pub mod slices;
mod state;
mod store;

#[cfg(test)]
mod tests;

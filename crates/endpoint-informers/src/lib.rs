#![doc = include_str!("../README.md")]

pub mod cache;
pub mod controller;
pub mod deferred_events;
pub mod events;
pub mod kinds;
pub mod lifecycle;
pub mod list_watch;
pub mod memories;
pub mod pending;
mod queries;
pub mod repairs;
pub mod resource;
pub mod seen_pods;
pub mod slices;
mod state;
mod store;
pub mod yielding;

// The first definition of a link counts: in the documentation, these replace those at the end of the README.
//! [`kube-api`]: kube_api
//! [`queue`]: queue
//! [`worker`]: worker
//! [`write`]: mod@write
//! [`write_order`]: write_order
//! [`recorder`]: mod@recorder
//! [`election`]: election
//! [`deferred_events`]: deferred_events
//! [`backoff`]: backoff
//! [`key`]: key
//! [`signals`]: signals
//! [`Recorder`]: recorder::Recorder
//! [`Elector`]: election::Elector
//! [`ObjectWriter`]: write::ObjectWriter
#![doc = include_str!("../README.md")]

pub mod backoff;
pub mod deferred_events;
pub mod election;
pub mod environment;
pub mod key;
pub mod queue;
pub mod recorder;
#[cfg(unix)]
pub mod signals;
pub mod worker;
pub mod write;
pub mod write_order;

//! The metrics of the process itself. Those of controllers, queues and requests are next to what they measure.

pub(crate) mod build;
pub(crate) mod client_certificate;
pub(crate) mod foreign_writes;
pub(crate) mod running_controllers;
pub(crate) mod runtime;

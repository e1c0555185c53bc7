#![doc = include_str!("../README.md")]

pub mod election;
pub mod environment;
pub mod key;
pub mod queue;
pub mod recorder;
pub mod worker;
pub mod write;

//! The parts of any Kubernetes controller that client-go has in `util/workqueue`, `tools/record` and
//! `tools/leaderelection`.
//!
//! * [`queue`]: the work queue: which keys wait, for how long, and which comes next.
//! * [`worker`]: workers that take a key, sync it, and requeue it if that failed.
//! * [`recorder`]: events about objects, merged and limited as client-go does.
//! * [`election`]: leader election with a Lease: at most one process writes.
//! * [`mod@write`]: one write of one object, and how it fails.
//! * [`key`]: namespace and name.
//!
//! Nothing here knows which kinds of objects a controller watches or writes.

pub mod election;
pub mod key;
pub mod queue;
pub mod recorder;
pub mod worker;
pub mod write;

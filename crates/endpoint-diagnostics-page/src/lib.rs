//! A page with the endpoints of all Services, for a browser on the same machine.
//!
//! ```text
//! Source ──> reports ──> Board: rows, numbered changes ──┬─> /api/services   all rows, and a cursor
//!    ^                                                   └─> /api/events     changes after a cursor, as they happen
//!    └────────────── /api/services/NAMESPACE/NAME: one report, on demand
//! ```
//!
//! * [`board`]: the list of Services and its changes, as data;
//! * [`server`]: the assets and the data over HTTP, the data for clients with a token. It accepts only a loopback address to
//!   listen at, and only requests that name one;
//! * `assets/`: one page of HTML, CSS and JavaScript modules, served as they are.
//!
//! * [`follow`]: a [`Source`] that gets the changes of a cluster. It does no IO; the program watches the cluster.

mod access;
mod assets;
pub mod board;
mod events;
pub mod follow;
mod headers;
mod origin;
mod routes;
mod row;
pub mod server;
mod source;

pub use board::Board;
pub use origin::{Origin, State};
pub use row::Row;
pub use source::Source;

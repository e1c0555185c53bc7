//! A page with the endpoints of all Services, for a browser on the same machine.
//!
//! ```text
//! Follower ──> reports ──> Board: rows, numbered changes ──┬─> /api/services   all rows, and a cursor
//!    ^                                                     └─> /api/events     changes after a cursor, as they happen
//!    ├────────────── /api/services/NAMESPACE/NAME: one report, on demand; with /view all that a page shows
//!    ├────────────── /api/timeline: what happened in a span of time
//!    └────────────── /api/search: Services by a pod, an address, a node or a label
//! ```
//!
//! * [`board`]: the list of Services and its changes, as data;
//! * [`history`]: the latest changes around each Service, in bounded memory;
//! * [`router`]: the assets and the data over HTTP, the data for clients with a token. It answers only requests that name a
//!   loopback address;
//! * [`shared`]: the same for several users, behind a server that knows them;
//! * `assets/`: one page of HTML, CSS and JavaScript modules, served as they are.
//!
//! * [`follow`]: the reports, which follow the changes of a cluster. It does no IO; the program watches the cluster.

mod access;
mod assets;
pub mod board;
mod events;
pub mod follow;
mod headers;
pub mod history;
mod origin;
mod overview;
mod query;
mod routes;
mod row;
mod search;
pub mod shared;
mod trend;
mod view;

pub use board::Board;
pub use origin::{Origin, State};
pub use overview::{Facts, Leader, Overview};
pub use routes::router;
pub use row::Row;
pub use search::Found;
pub use trend::Trend;
pub use view::{Span, View};

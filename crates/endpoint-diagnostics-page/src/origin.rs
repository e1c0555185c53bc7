//! The objects that a page is about.

use serde::Serialize;

/// The objects that a page is about, and how current they are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Origin {
    /// A name for the title, such as the address of an API server.
    pub name: String,
    /// Flags by which commands of kubectl read the same: of the cluster, or `-f` and files.
    pub flags: Vec<String>,
    /// The state of the source.
    pub state: State,
    /// A sentence about a state other than [`State::Live`], without a full stop.
    pub message: String,
}

/// The freshness of the rows of a board.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum State {
    /// Changes arrive as they happen.
    Live,
    /// Changes don't arrive at present: rows may be outdated.
    Stale,
    /// The source is files, which are read once.
    Fixed,
}

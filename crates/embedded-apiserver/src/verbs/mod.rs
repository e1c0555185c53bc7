//! The verbs of the API, from a routed request to its response.

mod call;
mod cascade;
mod change;
mod commit;
mod create;
mod decode;
mod delete;
mod dispatch;
mod lifecycle;
mod meta;
mod names;
mod options;
mod patch;
mod read;
mod record;
mod remove;
mod render;
mod scale;
mod subresources;
mod tracking;
mod update;

pub(crate) use create::{Creation, create};
pub(crate) use dispatch::answer;

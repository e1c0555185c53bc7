//! Listening and serving.

mod activity;
mod connection;
mod reload;
mod server;
mod streamed;
mod validate;

pub use server::{SecureServer, ServeError, serve_plain};

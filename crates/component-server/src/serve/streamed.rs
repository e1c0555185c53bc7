//! A body that is part of its request: while a client waits for its next frame, the connection is not idle.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::body::{Body, Bytes};
use hyper::body::{Body as HttpBody, Frame, SizeHint};

use super::activity::{Activity, InProgress};
use crate::connection_limit::ConnectionSlot;

/// The body of a response. hyper asks for a frame only after the client has taken the one before, so that a client that does
/// not read is idle.
pub(super) struct Streamed {
    pub(super) body: Body,
    pub(super) slot: Arc<ConnectionSlot>,
    pub(super) activity: Activity,
    /// The client's wait for the next frame.
    pub(super) wait: Option<InProgress>,
}

impl HttpBody for Streamed {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let wait = self.wait.take().unwrap_or_else(|| self.activity.start_wait());
        let frame = Pin::new(&mut self.body).poll_frame(context);
        if frame.is_pending() {
            self.wait = Some(wait);
        } else {
            self.slot.touch();
        }
        frame
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

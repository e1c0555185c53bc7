//! Bodies of requests and responses.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::{Buf as _, BufMut as _, Bytes, BytesMut};
use futures::{Stream, StreamExt as _};
use http_body::{Frame, SizeHint};
use http_body_util::BodyExt as _;

use crate::status::Status;

/// Bytes of a request body: `MaxRequestBodyBytes` of the API server.
const LIMIT: usize = 3 << 20;

/// The body of a response: bytes at once, or the chunks of a watch as they come.
pub struct Body(Content);

type Chunks = Pin<Box<dyn Stream<Item = Bytes> + Send>>;

enum Content {
    Full(Bytes),
    /// May end after any of them.
    Endless(Chunks),
}

impl Body {
    /// Sends the chunks of a watch as they come.
    pub(crate) fn endless(chunks: impl Stream<Item = Bytes> + Send + 'static) -> Self {
        Self(Content::Endless(Box::pin(chunks)))
    }

    /// Ends the body of a watch when `stop` is ready. All others are sent as a whole.
    pub(crate) fn until(self, stop: impl Future<Output = ()> + Send + 'static) -> Self {
        match self.0 {
            Content::Endless(chunks) => Self::endless(chunks.take_until(stop)),
            whole @ Content::Full(_) => Self(whole),
        }
    }
}

impl From<Vec<u8>> for Body {
    fn from(bytes: Vec<u8>) -> Self {
        Self(Content::Full(bytes.into()))
    }
}

impl From<Bytes> for Body {
    fn from(bytes: Bytes) -> Self {
        Self(Content::Full(bytes))
    }
}

impl std::fmt::Debug for Body {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.0 {
            Content::Full(bytes) => formatter.debug_tuple("Full").field(&bytes.len()).finish(),
            Content::Endless(_) => formatter.write_str("Endless"),
        }
    }
}

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match &mut self.0 {
            Content::Full(bytes) if bytes.is_empty() => Poll::Ready(None),
            Content::Full(bytes) => Poll::Ready(Some(Ok(Frame::data(std::mem::take(bytes))))),
            Content::Endless(chunks) => {
                chunks.as_mut().poll_next(context).map(|chunk| chunk.map(|chunk| Ok(Frame::data(chunk))))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(&self.0, Content::Full(bytes) if bytes.is_empty())
    }

    fn size_hint(&self) -> SizeHint {
        match &self.0 {
            Content::Full(bytes) => SizeHint::with_exact(bytes.len() as u64),
            Content::Endless(_) => SizeHint::default(),
        }
    }
}

/// Reads the body of a request.
/// Errors: 413 beyond 3 MiB, 500 if the connection fails.
pub(crate) async fn read<B>(body: B) -> Result<Bytes, Status>
where
    B: http_body::Body,
    B::Error: std::fmt::Display,
{
    let mut body = std::pin::pin!(body);
    let mut all = BytesMut::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| Status::new(500, "", error.to_string()))?;
        let Ok(data) = frame.into_data() else { continue };
        if all.len() + data.remaining() > LIMIT {
            let message = format!("Request entity too large: limit is {LIMIT}");
            return Err(Status::new(413, "RequestEntityTooLarge", message));
        }
        all.put(data);
    }
    Ok(all.freeze())
}

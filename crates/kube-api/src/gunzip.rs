//! Compressed responses. tower-http's layer reads one gzip member; kube-apiserver ends a member at each flush of a list that it
//! streams (`WatchListCompression`; `perFlushGzipWriter` in apiserver's `endpoints/handlers/watch.go`).

use std::io::Write as _;

use bytes::Bytes;
use flate2::write::MultiGzDecoder;
use futures::StreamExt as _;
use http::header::{ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_LENGTH};
use http::{HeaderValue, Request, Response};
use http_body_util::{BodyStream, Either, StreamBody};
use hyper::body::{Body, Frame, Incoming};
use tower::BoxError;

/// Asks for a compressed response.
pub(crate) fn ask<B>(mut request: Request<B>) -> Request<B> {
    request.headers_mut().entry(ACCEPT_ENCODING).or_insert(HeaderValue::from_static("gzip"));
    request
}

/// The response, decompressed as it arrives if it is compressed.
pub(crate) fn read(
    mut response: Response<Incoming>,
) -> Response<Either<Incoming, impl Body<Data = Bytes, Error = BoxError> + Send>> {
    let is_compressed = response.headers().get(CONTENT_ENCODING).is_some_and(|encoding| encoding == "gzip");
    if !is_compressed {
        return response.map(Either::Left);
    }
    response.headers_mut().remove(CONTENT_ENCODING);
    response.headers_mut().remove(CONTENT_LENGTH);
    response.map(|body| Either::Right(decompressed(body)))
}

fn decompressed(body: Incoming) -> impl Body<Data = Bytes, Error = BoxError> + Send {
    let mut decoder = MultiGzDecoder::new(Vec::new());
    StreamBody::new(BodyStream::new(body).map(move |frame| match frame?.into_data() {
        Ok(data) => {
            decoder.write_all(&data)?;
            decoder.flush()?;
            Ok(Frame::data(std::mem::take(decoder.get_mut()).into()))
        }
        Err(trailers) => Ok(trailers),
    }))
}

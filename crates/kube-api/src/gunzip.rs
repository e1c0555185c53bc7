//! Compressed responses. tower-http's layer reads one gzip member; kube-apiserver ends a member at each flush of a list that it
//! streams (`WatchListCompression`; `perFlushGzipWriter` in apiserver's `endpoints/handlers/watch.go`).

use std::io::Write as _;

use bytes::Bytes;
use flate2::write::MultiGzDecoder;
use futures::{StreamExt as _, stream};
use http::header::{ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_LENGTH};
use http::{HeaderValue, Request, Response};
use http_body_util::{BodyStream, Either, StreamBody};
use hyper::body::{Body, Frame, Incoming};
use tower::BoxError;

/// The compressed bytes that are inflated at once, to at most a thousand times as many: what reads the response then sees
/// whether it is too large.
const PIECE: usize = 16 << 10;

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
    let pieces = BodyStream::new(body).flat_map(|frame| stream::iter(pieces(frame)));
    StreamBody::new(pieces.map(move |frame| match frame?.into_data() {
        Ok(data) => {
            decoder.write_all(&data)?;
            decoder.flush()?;
            Ok(Frame::data(std::mem::take(decoder.get_mut()).into()))
        }
        Err(trailers) => Ok(trailers),
    }))
}

/// The frame, cut into frames of at most [`PIECE`] bytes.
fn pieces<E>(frame: Result<Frame<Bytes>, E>) -> Vec<Result<Frame<Bytes>, E>> {
    match frame.map(Frame::into_data) {
        Ok(Ok(mut data)) => {
            let mut pieces = Vec::new();
            while data.len() > PIECE {
                pieces.push(Ok(Frame::data(data.split_to(PIECE))));
            }
            pieces.push(Ok(Frame::data(data)));
            pieces
        }
        Ok(Err(trailers)) => vec![Ok(trailers)],
        Err(error) => vec![Err(error)],
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::*;

    #[test]
    fn a_chunk_is_inflated_in_pieces() {
        let chunk = Frame::data(Bytes::from(vec![0_u8; 3 * PIECE + 1]));
        let pieces = pieces::<Infallible>(Ok(chunk)).into_iter();
        let lengths: Vec<usize> = pieces.map(|piece| piece.unwrap().into_data().unwrap().len()).collect();
        assert_eq!(lengths, [PIECE, PIECE, PIECE, 1]);
    }
}

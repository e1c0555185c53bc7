//! Frames of a watch body: a big-endian length of four bytes, then the content.

use crate::error::{DecodeError, DecodeErrorKind};

/// Default limit of a frame, far above any object of a real cluster: etcd stores a few megabytes at most.
pub const DEFAULT_MAX_FRAME_BYTES: usize = 64 << 20;

/// Capacity that the buffer keeps, so that ordinary events do not allocate.
const MIN_CAPACITY: usize = 256 << 10;

/// Splits a body that arrives in chunks of any size into frames.
///
/// Cost: each byte is copied into the buffer once and moved at most once more. The buffer grows with the received bytes,
/// not with the announced length of a frame, and shrinks after a large frame.
///
/// ```
/// use kube_protobuf::FrameReader;
///
/// let mut frames = FrameReader::default();
/// frames.push(b"\0\0\0\x02ab\0\0");
/// assert_eq!(frames.next_frame()?, Some(&b"ab"[..]));
/// assert_eq!(frames.next_frame()?, None);
/// assert!(!frames.is_empty(), "a stream that ends here is truncated");
/// # Ok::<(), kube_protobuf::DecodeError>(())
/// ```
#[derive(Debug)]
pub struct FrameReader {
    buffer: Vec<u8>,
    /// Offset of the first byte that was not returned yet.
    start: usize,
    max: usize,
}

impl Default for FrameReader {
    /// Creates a reader with [`DEFAULT_MAX_FRAME_BYTES`].
    fn default() -> Self {
        Self::new(DEFAULT_MAX_FRAME_BYTES)
    }
}

impl FrameReader {
    /// Creates a reader at a frame boundary. A frame of more than `max` bytes is an error.
    pub const fn new(max: usize) -> Self {
        Self { buffer: Vec::new(), start: 0, max }
    }

    /// Appends received bytes.
    pub fn push(&mut self, chunk: &[u8]) {
        self.reclaim();
        self.buffer.extend_from_slice(chunk);
    }

    /// Returns the next complete frame without its length; `None` if it is not complete yet.
    ///
    /// # Errors
    ///
    /// [`DecodeErrorKind::FrameTooLarge`] as soon as the length is received, and on every later call: the stream cannot be
    /// read any further.
    pub fn next_frame(&mut self) -> Result<Option<&[u8]>, DecodeError> {
        let Some(length) = self.frame_length()? else {
            self.reclaim();
            return Ok(None);
        };
        let body = self.start + LENGTH_BYTES;
        let end = body.saturating_add(length);
        if self.buffer.len() < end {
            self.reclaim();
            return Ok(None);
        }
        self.start = end;
        Ok(self.buffer.get(body..end))
    }

    /// True at a frame boundary. A stream that ends elsewhere is truncated.
    pub const fn is_empty(&self) -> bool {
        self.start == self.buffer.len()
    }

    /// Returns the length of the next frame, if received.
    fn frame_length(&self) -> Result<Option<usize>, DecodeError> {
        let pending = self.buffer.get(self.start..).unwrap_or_default();
        let Some(length) = pending.first_chunk() else { return Ok(None) };
        let length = u32::from_be_bytes(*length);
        let fits = usize::try_from(length).ok().filter(|length| *length <= self.max);
        fits.map(Some).ok_or_else(|| DecodeError::new(DecodeErrorKind::FrameTooLarge(length), "frame", 0))
    }

    /// Removes returned frames from the buffer once they are the larger part of it, so that each byte moves at most once.
    fn reclaim(&mut self) {
        let pending = self.buffer.len() - self.start;
        if self.start < pending {
            return;
        }
        self.buffer.drain(..self.start);
        self.start = 0;
        if self.buffer.capacity() > MIN_CAPACITY.max(4 * pending) {
            self.buffer.shrink_to(MIN_CAPACITY);
        }
    }
}

const LENGTH_BYTES: usize = size_of::<u32>();

#[cfg(test)]
mod tests;

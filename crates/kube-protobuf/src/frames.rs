//! A watch body cut into frames: four bytes of length, big-endian, then that many bytes.

use crate::error::{DecodeError, DecodeErrorKind};

/// A frame limit that no object of a real cluster comes near: etcd refuses to store more than a few megabytes.
pub const DEFAULT_MAX_FRAME_BYTES: usize = 64 << 20;

/// The buffer is not shrunk below this, so that ordinary events never allocate.
const KEEP_BYTES: usize = 256 << 10;

/// Cuts a body that arrives in chunks into frames, wherever the chunks end.
///
/// Each byte is copied in once and moved at most once more, whatever the sizes of chunks and frames. The buffer grows
/// with what has arrived, not with what a frame announces, and gives its memory back after a large frame.
///
/// ```
/// use kube_protobuf::FrameReader;
///
/// let mut frames = FrameReader::default();
/// frames.push(b"\0\0\0\x02ab\0\0");
/// assert_eq!(frames.next_frame()?, Some(&b"ab"[..]));
/// assert_eq!(frames.next_frame()?, None);
/// assert!(!frames.is_empty(), "a stream that ends here was cut off");
/// # Ok::<(), kube_protobuf::DecodeError>(())
/// ```
#[derive(Debug)]
pub struct FrameReader {
    buffer: Vec<u8>,
    /// Everything before this has been handed out.
    start: usize,
    max: usize,
}

impl Default for FrameReader {
    /// With [`DEFAULT_MAX_FRAME_BYTES`].
    fn default() -> Self {
        Self::new(DEFAULT_MAX_FRAME_BYTES)
    }
}

impl FrameReader {
    /// Starts at a frame boundary; frames of more than `max` bytes are an error.
    pub const fn new(max: usize) -> Self {
        Self { buffer: Vec::new(), start: 0, max }
    }

    /// Appends what has arrived.
    pub fn push(&mut self, chunk: &[u8]) {
        self.reclaim();
        self.buffer.extend_from_slice(chunk);
    }

    /// The next whole frame without its length; `None` if more has to arrive first.
    ///
    /// # Errors
    ///
    /// [`DecodeErrorKind::FrameTooLarge`] as soon as the length has arrived, and again at every further call: the
    /// stream can't be read any more.
    pub fn next_frame(&mut self) -> Result<Option<&[u8]>, DecodeError> {
        let Some(length) = self.announced()? else {
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

    /// At a frame boundary. A stream that ends anywhere else was cut off.
    pub const fn is_empty(&self) -> bool {
        self.start == self.buffer.len()
    }

    /// The length of the next frame, if that much has arrived.
    fn announced(&self) -> Result<Option<usize>, DecodeError> {
        let pending = self.buffer.get(self.start..).unwrap_or_default();
        let Some(length) = pending.first_chunk() else { return Ok(None) };
        let length = u32::from_be_bytes(*length);
        let fits = usize::try_from(length).ok().filter(|length| *length <= self.max);
        fits.map(Some).ok_or_else(|| DecodeError::new(DecodeErrorKind::FrameTooLarge(length), "frame", 0))
    }

    /// Forgets what has been handed out, once that is the larger part of the buffer: then no byte moves twice for less
    /// than its own weight in frames.
    fn reclaim(&mut self) {
        let pending = self.buffer.len() - self.start;
        if self.start < pending {
            return;
        }
        self.buffer.drain(..self.start);
        self.start = 0;
        if self.buffer.capacity() > KEEP_BYTES.max(4 * pending) {
            self.buffer.shrink_to(KEEP_BYTES);
        }
    }
}

const LENGTH_BYTES: usize = size_of::<u32>();

#[cfg(test)]
mod tests;

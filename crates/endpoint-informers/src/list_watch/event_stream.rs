//! A watch body as a sequence of events.

use endpointslice::Interner;
use http_body_util::BodyExt;
use kube::client::Body;
use kube_api::{ApiError, Encoding};
use kube_protobuf::{DEFAULT_MAX_FRAME_BYTES, FrameReader};
use parking_lot::Mutex;

use super::error::WatchError;
use super::event::{Event, json_event, protobuf_event};
use crate::resource::Resource;

/// Splits a body into events.
pub(super) struct EventStream {
    body: Body,
    frames: Frames,
}

enum Frames {
    Protobuf(FrameReader),
    Json(Lines),
}

impl EventStream {
    pub(super) fn new(encoding: Encoding, body: Body) -> Self {
        let frames = match encoding {
            Encoding::Protobuf => Frames::Protobuf(FrameReader::default()),
            Encoding::Json => Frames::Json(Lines::default()),
        };
        Self { body, frames }
    }

    /// The next event; `None` at the end of the body. A body that ends inside an event was cut off, which is an error.
    pub(super) async fn next<K: Resource>(
        &mut self,
        interner: &Mutex<Interner>,
    ) -> Result<Option<Event<K>>, WatchError> {
        loop {
            if let Some(event) = self.arrived(interner)? {
                return Ok(Some(event));
            }
            let Some(chunk) = self.body.frame().await else {
                return if self.is_empty() { Ok(None) } else { Err(WatchError::Cut) };
            };
            let chunk = chunk.map_err(|error| ApiError::Transport(Box::new(error)))?;
            if let Some(data) = chunk.data_ref() {
                match &mut self.frames {
                    Frames::Protobuf(frames) => frames.push(data),
                    Frames::Json(lines) => lines.push(data),
                }
            }
        }
    }

    /// The next event, if all of it has arrived.
    pub(super) fn arrived<K: Resource>(
        &mut self,
        interner: &Mutex<Interner>,
    ) -> Result<Option<Event<K>>, WatchError> {
        match &mut self.frames {
            Frames::Protobuf(frames) => {
                frames.next_frame()?.map(|frame| protobuf_event(frame, interner)).transpose()
            }
            Frames::Json(lines) => lines.next_line()?.map(|line| json_event(line, interner)).transpose(),
        }
    }

    fn is_empty(&self) -> bool {
        match &self.frames {
            Frames::Protobuf(frames) => frames.is_empty(),
            Frames::Json(lines) => lines.buffer.len() == lines.start,
        }
    }
}

/// Splits newline-delimited JSON that arrives in chunks.
#[derive(Default)]
struct Lines {
    buffer: Vec<u8>,
    start: usize,
    /// The end of the part without a newline.
    searched: usize,
}

impl Lines {
    fn push(&mut self, chunk: &[u8]) {
        if self.start > 0 {
            self.buffer.drain(..self.start);
            self.searched -= self.start;
            self.start = 0;
        }
        self.buffer.extend_from_slice(chunk);
    }

    /// The next line that isn't blank, if all of it has arrived.
    fn next_line(&mut self) -> Result<Option<&[u8]>, WatchError> {
        loop {
            let unsearched = self.buffer.get(self.searched..).unwrap_or_default();
            let Some(length) = unsearched.iter().position(|byte| *byte == b'\n') else {
                self.searched = self.buffer.len();
                if self.searched - self.start > DEFAULT_MAX_FRAME_BYTES {
                    return Err(WatchError::TooLarge(DEFAULT_MAX_FRAME_BYTES));
                }
                return Ok(None);
            };
            let (start, end) = (self.start, self.searched + length);
            self.start = end + 1;
            self.searched = self.start;
            let is_blank = self.buffer.get(start..end).is_none_or(|line| line.trim_ascii().is_empty());
            if !is_blank {
                return Ok(self.buffer.get(start..end));
            }
        }
    }
}

#[cfg(test)]
mod tests;

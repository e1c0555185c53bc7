//! Reading and writing protobuf.

use std::hint::black_box;

use endpoint_informers::resource::Resource as _;
use endpointslice::{Interner, Pod};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use kube_protobuf::{FrameReader, Message as _, PodView, Unknown, WatchEvent, varint};

use super::plan::written_slices;

/// Repetitions.
pub(crate) const EVENTS: u64 = 500;

/// A pod as Go wrote it, with its envelope.
const POD: &[u8] = include_bytes!("../../../../crates/kube-protobuf/testdata/pod.pb");

fn raw_pod() -> &'static [u8] {
    Unknown::parse(POD).unwrap().raw
}

pub(crate) fn pod_view() -> Box<dyn FnMut()> {
    Box::new(|| {
        for _ in 0..EVENTS {
            black_box(PodView::parse(black_box(raw_pod())).unwrap());
        }
    })
}

/// A watch that delivers the pod again and again, in chunks as they come from TLS.
pub(crate) fn pod_event() -> Box<dyn FnMut()> {
    const CHUNK: usize = 16 * 1024;
    let body = frame().repeat(usize::try_from(EVENTS).unwrap());
    Box::new(move || {
        let mut frames = FrameReader::default();
        for chunk in body.chunks(CHUNK) {
            frames.push(chunk);
            while let Some(frame) = frames.next_frame().unwrap() {
                let event = WatchEvent::parse(frame).unwrap();
                black_box(PodView::parse(event.object.raw).unwrap());
            }
        }
    })
}

/// One frame of a watch: four bytes of length, then `meta/v1.WatchEvent` (type 1, object 2 with raw 1).
fn frame() -> Vec<u8> {
    let field = |number: u8, bytes: &[u8]| {
        let mut field = vec![number << 3 | 2];
        let (length, used) = varint(bytes.len() as u64);
        field.extend_from_slice(&length[..used]);
        field.extend_from_slice(bytes);
        field
    };
    let event = [field(1, b"MODIFIED"), field(2, &field(1, POD))].concat();
    let length = u32::try_from(event.len()).unwrap().to_be_bytes();
    [&length[..], &event].concat()
}

/// A pod in the form of the cache.
pub(crate) fn cached_pod() -> Box<dyn FnMut()> {
    let mut interner = Interner::default();
    Box::new(move || {
        for _ in 0..EVENTS {
            black_box(Pod::from_protobuf(black_box(raw_pod()), &mut interner).unwrap());
        }
    })
}

pub(crate) fn slice_decode() -> Box<dyn FnMut()> {
    let encoded: Vec<Vec<u8>> = written_slices().iter().map(EndpointSlice::encode).collect();
    Box::new(move || {
        for slice in &encoded {
            black_box(EndpointSlice::decode(black_box(slice)).unwrap());
        }
    })
}

pub(crate) fn slice_encode() -> Box<dyn FnMut()> {
    let slices = written_slices();
    Box::new(move || {
        for slice in &slices {
            black_box(black_box(slice).encode());
        }
    })
}

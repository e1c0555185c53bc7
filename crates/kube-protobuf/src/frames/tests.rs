use super::*;

fn framed(bodies: &[&[u8]]) -> Vec<u8> {
    bodies
        .iter()
        .flat_map(|body| [&u32::try_from(body.len()).unwrap().to_be_bytes(), *body].concat())
        .collect()
}

#[test]
fn a_truncated_stream_is_not_empty() {
    let stream = framed(&[b"one", b"two"]);
    for length in 0..=stream.len() {
        let mut frames = FrameReader::default();
        frames.push(&stream[..length]);
        while frames.next_frame().unwrap().is_some() {}
        assert_eq!(frames.is_empty(), length % 7 == 0, "after {length} bytes");
    }
}

#[test]
fn a_frame_over_the_limit_is_refused_before_its_content_arrives() {
    let mut frames = FrameReader::new(4);
    frames.push(&framed(&[b"four", b"fives"])[..12]);
    assert_eq!(frames.next_frame(), Ok(Some(&b"four"[..])));
    for _ in 0..2 {
        assert_eq!(frames.next_frame().unwrap_err().kind(), DecodeErrorKind::FrameTooLarge(5));
    }
    assert_eq!(
        frames.next_frame().unwrap_err().to_string(),
        "malformed protobuf: frame of 5 bytes exceeds the limit (frame, byte 0)"
    );
}

#[test]
fn an_announced_length_allocates_nothing() {
    let mut frames = FrameReader::new(usize::MAX);
    frames.push(&u32::MAX.to_be_bytes());
    assert_eq!(frames.next_frame(), Ok(None));
    assert!(frames.buffer.capacity() < 1024);
}

#[test]
fn the_buffer_shrinks_after_a_large_frame() {
    let large = vec![1; 8 << 20];
    let mut frames = FrameReader::default();
    frames.push(&framed(&[&large]));
    assert_eq!(frames.next_frame().unwrap().map(<[u8]>::len), Some(large.len()));
    assert_eq!(frames.next_frame(), Ok(None));
    assert!(frames.buffer.capacity() <= MIN_CAPACITY);
}

#[test]
fn the_buffer_does_not_grow_with_the_stream() {
    let frame = framed(&[&[5; 1000]]);
    let mut frames = FrameReader::default();
    // every chunk ends in the middle of a frame, and each frame is taken as soon as it is complete
    frames.push(&frame[..500]);
    for _ in 0..10_000 {
        frames.push(&frame[500..]);
        frames.push(&frame[..500]);
        assert_eq!(frames.next_frame().unwrap().map(<[u8]>::len), Some(1000));
    }
    assert!(frames.buffer.capacity() < 16 << 10);
}

use super::*;

fn read(bytes: &[u8]) -> Result<Vec<(u32, Value<'_>)>, DecodeErrorKind> {
    let mut fields = Fields::new("Test", bytes);
    let mut found = Vec::new();
    while let Some(field) = fields.next_field().map_err(|error| error.kind())? {
        found.push(field);
    }
    Ok(found)
}

#[test]
fn every_wire_type_is_read() {
    for (bytes, expected) in [
        (&b""[..], vec![]),
        (b"\x08\x00", vec![(1, Value::Varint(0))]),
        (b"\x08\xac\x02", vec![(1, Value::Varint(300))]),
        (b"\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", vec![(1, Value::Varint(u64::MAX))]),
        (b"\x09\x01\0\0\0\0\0\0\0", vec![(1, Value::Fixed64(1))]),
        (b"\x0a\x02hi\x0a\x00", vec![(1, Value::Bytes(b"hi")), (1, Value::Bytes(b""))]),
        (b"\x0d\x02\0\0\0", vec![(1, Value::Fixed32(2))]),
        (b"\x8a\x01\x00", vec![(17, Value::Bytes(b""))]),
        (b"\x88\x80\x80\x00\x05", vec![(1, Value::Varint(5))]),
        (b"\xf8\xff\xff\xff\x0f\x01", vec![((1 << 29) - 1, Value::Varint(1))]),
    ] {
        assert_eq!(read(bytes).as_ref(), Ok(&expected), "{bytes:x?}");
    }
}

#[test]
fn malformed_input_is_an_error() {
    use DecodeErrorKind::{FieldNumber, Truncated, VarintOverflow, WireType};
    for (bytes, expected) in [
        (&b"\x08"[..], Truncated),
        (b"\x08\x80", Truncated),
        (b"\x80", Truncated),
        (b"\x0a\x03hi", Truncated),
        (b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", Truncated),
        (b"\x09\0\0\0\0\0\0\0", Truncated),
        (b"\x0d\0\0\0", Truncated),
        (b"\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", VarintOverflow),
        (b"\x08\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x00", VarintOverflow),
        (b"\x00\x00", FieldNumber),
        (b"\x80\x80\x80\x80\x10\x00", FieldNumber),
        (b"\x0b\x0c", WireType),
        (b"\x0c", WireType),
        (b"\x0e", WireType),
        (b"\x0f", WireType),
    ] {
        assert_eq!(read(bytes), Err(expected), "{bytes:x?}");
    }
}

#[test]
fn values_are_read_as_declared() {
    let fields = Fields::new("Test", b"");
    let minus_one = Value::Varint(u64::MAX);
    assert_eq!(fields.int64(minus_one), Ok(-1));
    assert_eq!(fields.int32(minus_one), Ok(-1));
    assert_eq!(fields.int32(Value::Varint(0x1_0000_0002)), Ok(2), "the lower 32 bits");
    assert_eq!(fields.boolean(Value::Varint(2)), Ok(true));
    assert_eq!(fields.text(Value::Bytes("ü".as_bytes())), Ok("ü"));
    assert_eq!(fields.text(Value::Bytes(b"\xff")).unwrap_err().kind(), DecodeErrorKind::Utf8);
    assert_eq!(fields.owned_text(Value::Bytes(b"a\xff")), Ok("a\u{fffd}".to_owned()));
    for error in [
        fields.text(minus_one).unwrap_err(),
        fields.bytes(Value::Fixed32(0)).unwrap_err(),
        fields.int64(Value::Bytes(b"")).unwrap_err(),
        fields.int32(Value::Fixed64(0)).unwrap_err(),
        fields.boolean(Value::Fixed64(0)).unwrap_err(),
    ] {
        assert_eq!(error.kind(), DecodeErrorKind::UnexpectedType);
    }
}

#[test]
fn an_error_names_its_message_and_offset() {
    let mut fields = Fields::new("PodIP", b"\x0a\x01x\x0a\x05y");
    fields.next_field().unwrap();
    let error = fields.next_field().unwrap_err();
    assert_eq!((error.message(), error.offset()), ("PodIP", 5));
    assert_eq!(error.to_string(), "malformed protobuf: message ends inside a field (PodIP, byte 5)");
}

#[test]
fn sources_add_up_to_the_message() {
    let bytes = b"\x88\x80\x00\x05\x0a\x02hi\x0d\x02\0\0\0";
    let mut fields = Fields::new("Test", bytes);
    let mut sources = Vec::new();
    while let Some((.., source)) = fields.next_with_source().unwrap() {
        sources.extend_from_slice(source);
    }
    assert_eq!(sources, bytes);
}

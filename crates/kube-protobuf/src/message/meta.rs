//! Messages that all kinds contain: `k8s.io/apimachinery pkg/apis/meta/v1/generated.proto`, and the
//! `ObjectReference` of `k8s.io/api core/v1/generated.proto`.

use jiff::Timestamp;
use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta, OwnerReference, Time};

use super::codec::{self, Codec};
use crate::error::{DecodeError, DecodeErrorKind};
use crate::reader::{Fields, Value};
use crate::writer::Writer;

impl Codec for ObjectMeta {
    const NAME: &'static str = "ObjectMeta";

    fn zero() -> Self {
        Self::default()
    }

    fn merge_field(&mut self, number: u32, value: Value<'_>, fields: &Fields<'_>) -> Result<(), DecodeError> {
        match number {
            1 => self.name = codec::plain_text(fields, value)?,
            2 => self.generate_name = codec::plain_text(fields, value)?,
            3 => self.namespace = codec::plain_text(fields, value)?,
            4 => self.self_link = codec::plain_text(fields, value)?,
            5 => self.uid = codec::plain_text(fields, value)?,
            6 => self.resource_version = codec::plain_text(fields, value)?,
            7 => self.generation = Some(fields.int64(value)?).filter(|generation| *generation != 0),
            8 => self.creation_timestamp = read_time(fields.bytes(value)?)?,
            9 => self.deletion_timestamp = read_time(fields.bytes(value)?)?,
            10 => self.deletion_grace_period_seconds = Some(fields.int64(value)?),
            11 => codec::insert(&mut self.labels, fields.bytes(value)?)?,
            12 => codec::insert(&mut self.annotations, fields.bytes(value)?)?,
            13 => codec::push(&mut self.owner_references, fields.bytes(value)?)?,
            14 => self.finalizers.get_or_insert_default().push(fields.owned_text(value)?),
            _ => {}
        }
        Ok(())
    }

    fn write(&self, writer: &mut Writer) {
        writer.plain_text(1, self.name.as_deref());
        writer.plain_text(2, self.generate_name.as_deref());
        writer.plain_text(3, self.namespace.as_deref());
        writer.plain_text(4, self.self_link.as_deref());
        writer.plain_text(5, self.uid.as_deref());
        writer.plain_text(6, self.resource_version.as_deref());
        writer.integer(7, self.generation.unwrap_or_default());
        write_time(writer, 8, self.creation_timestamp.as_ref());
        if self.deletion_timestamp.is_some() {
            write_time(writer, 9, self.deletion_timestamp.as_ref());
        }
        codec::write_integer(writer, 10, self.deletion_grace_period_seconds);
        codec::write_map(writer, 11, self.labels.as_ref());
        codec::write_map(writer, 12, self.annotations.as_ref());
        codec::write_list(writer, 13, &self.owner_references);
        for finalizer in self.finalizers.iter().flatten() {
            writer.text(14, finalizer);
        }
    }
}

impl Codec for OwnerReference {
    const NAME: &'static str = "OwnerReference";

    fn zero() -> Self {
        Self::default()
    }

    fn merge_field(&mut self, number: u32, value: Value<'_>, fields: &Fields<'_>) -> Result<(), DecodeError> {
        match number {
            1 => self.kind = fields.owned_text(value)?,
            3 => self.name = fields.owned_text(value)?,
            4 => self.uid = fields.owned_text(value)?,
            5 => self.api_version = fields.owned_text(value)?,
            6 => self.controller = Some(fields.boolean(value)?),
            7 => self.block_owner_deletion = Some(fields.boolean(value)?),
            _ => {}
        }
        Ok(())
    }

    fn write(&self, writer: &mut Writer) {
        writer.text(1, &self.kind);
        writer.text(3, &self.name);
        writer.text(4, &self.uid);
        writer.text(5, &self.api_version);
        codec::write_integer(writer, 6, self.controller);
        codec::write_integer(writer, 7, self.block_owner_deletion);
    }
}

impl Codec for ObjectReference {
    const NAME: &'static str = "ObjectReference";

    fn zero() -> Self {
        Self::default()
    }

    fn merge_field(&mut self, number: u32, value: Value<'_>, fields: &Fields<'_>) -> Result<(), DecodeError> {
        match number {
            1 => self.kind = codec::plain_text(fields, value)?,
            2 => self.namespace = codec::plain_text(fields, value)?,
            3 => self.name = codec::plain_text(fields, value)?,
            4 => self.uid = codec::plain_text(fields, value)?,
            5 => self.api_version = codec::plain_text(fields, value)?,
            6 => self.resource_version = codec::plain_text(fields, value)?,
            7 => self.field_path = codec::plain_text(fields, value)?,
            _ => {}
        }
        Ok(())
    }

    fn write(&self, writer: &mut Writer) {
        writer.plain_text(1, self.kind.as_deref());
        writer.plain_text(2, self.namespace.as_deref());
        writer.plain_text(3, self.name.as_deref());
        writer.plain_text(4, self.uid.as_deref());
        writer.plain_text(5, self.api_version.as_deref());
        writer.plain_text(6, self.resource_version.as_deref());
        writer.plain_text(7, self.field_path.as_deref());
    }
}

/// Go's zero time, the beginning of year 1: absent in JSON, an empty message in protobuf.
const GO_ZERO_SECONDS: i64 = -62_135_596_800;
const NANOS_PER_SECOND: i32 = 1_000_000_000;
const NANOS_PER_MICRO: i32 = 1_000;

/// Reads a time in whole seconds, as Go does.
pub(super) fn read_time(bytes: &[u8]) -> Result<Option<Time>, DecodeError> {
    Ok(read_timestamp(bytes, |_| 0)?.map(Time))
}

/// Reads a time in microseconds.
pub(super) fn read_micro_time(bytes: &[u8]) -> Result<Option<MicroTime>, DecodeError> {
    Ok(read_timestamp(bytes, |nanos| nanos - nanos % NANOS_PER_MICRO)?.map(MicroTime))
}

fn read_timestamp(bytes: &[u8], precision: fn(i32) -> i32) -> Result<Option<Timestamp>, DecodeError> {
    let (mut seconds, mut nanos) = (0, 0);
    let mut fields = Fields::new("Timestamp", bytes);
    while let Some((number, value)) = fields.next_field()? {
        match number {
            1 => seconds = fields.int64(value)?,
            2 => nanos = fields.int32(value)?,
            _ => {}
        }
    }
    let nanos = precision(nanos);
    if bytes.is_empty() || (seconds, nanos) == (GO_ZERO_SECONDS, 0) {
        return Ok(None);
    }
    Timestamp::new(seconds, nanos).map(Some).map_err(|_| fields.error(DecodeErrorKind::Time))
}

/// Writes a time in whole seconds; an absent one as an empty message.
pub(super) fn write_time(writer: &mut Writer, number: u32, time: Option<&Time>) {
    write_timestamp(writer, number, time.map(|Time(time)| *time), |_| 0);
}

/// Writes a time in microseconds; an absent one as an empty message.
pub(super) fn write_micro_time(writer: &mut Writer, number: u32, time: Option<&MicroTime>) {
    write_timestamp(writer, number, time.map(|MicroTime(time)| *time), |nanos| {
        nanos - nanos % NANOS_PER_MICRO
    });
}

fn write_timestamp(writer: &mut Writer, number: u32, time: Option<Timestamp>, precision: fn(i32) -> i32) {
    let open = writer.open(number);
    if let Some(time) = time {
        // nanoseconds count forward from the preceding second, also before 1970
        let (seconds, nanos) = match (time.as_second(), time.subsec_nanosecond()) {
            (seconds, nanos) if nanos < 0 => (seconds - 1, nanos + NANOS_PER_SECOND),
            (seconds, nanos) => (seconds, nanos),
        };
        let nanos = precision(nanos);
        if (seconds, nanos) != (GO_ZERO_SECONDS, 0) {
            writer.integer(1, seconds);
            writer.integer(2, nanos);
        }
    }
    writer.close(open);
}

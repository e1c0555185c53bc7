//! Times, in the precision of their JSON.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, Time};

use crate::error::{DecodeError, DecodeErrorKind};
use crate::reader::Fields;
use crate::writer::Writer;

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

//! `Event`: `k8s.io/api core/v1/generated.proto`.

use k8s_openapi::api::core::v1::{Event, EventSeries, EventSource};

use super::Message;
use super::codec::{self, Codec};
use super::meta::{read_micro_time, read_time, write_micro_time, write_time};
use crate::error::DecodeError;
use crate::reader::{Fields, Value};
use crate::writer::Writer;

impl Message for Event {
    const API_VERSION: &'static str = "v1";
    const KIND: &'static str = "Event";
}

impl Codec for Event {
    const NAME: &'static str = "Event";

    fn zero() -> Self {
        Self {
            source: Some(EventSource::zero()),
            reporting_component: Some(String::new()),
            reporting_instance: Some(String::new()),
            ..Self::default()
        }
    }

    fn merge_field(&mut self, number: u32, value: Value<'_>, fields: &Fields<'_>) -> Result<(), DecodeError> {
        match number {
            1 => self.metadata.merge(fields.bytes(value)?)?,
            2 => self.involved_object.merge(fields.bytes(value)?)?,
            3 => self.reason = codec::plain_text(fields, value)?,
            4 => self.message = codec::plain_text(fields, value)?,
            5 => codec::merge_optional(&mut self.source, fields.bytes(value)?)?,
            6 => self.first_timestamp = read_time(fields.bytes(value)?)?,
            7 => self.last_timestamp = read_time(fields.bytes(value)?)?,
            8 => self.count = codec::plain_int32(fields, value)?,
            9 => self.type_ = codec::plain_text(fields, value)?,
            10 => self.event_time = read_micro_time(fields.bytes(value)?)?,
            11 => codec::merge_optional(&mut self.series, fields.bytes(value)?)?,
            12 => self.action = codec::plain_text(fields, value)?,
            13 => codec::merge_optional(&mut self.related, fields.bytes(value)?)?,
            14 => self.reporting_component = Some(fields.owned_text(value)?),
            15 => self.reporting_instance = Some(fields.owned_text(value)?),
            _ => {}
        }
        Ok(())
    }

    fn write(&self, writer: &mut Writer) {
        codec::write(writer, 1, &self.metadata);
        codec::write(writer, 2, &self.involved_object);
        writer.plain_text(3, self.reason.as_deref());
        writer.plain_text(4, self.message.as_deref());
        codec::write_plain(writer, 5, self.source.as_ref());
        write_time(writer, 6, self.first_timestamp.as_ref());
        write_time(writer, 7, self.last_timestamp.as_ref());
        writer.integer(8, self.count.unwrap_or_default());
        writer.plain_text(9, self.type_.as_deref());
        write_micro_time(writer, 10, self.event_time.as_ref());
        codec::write_optional(writer, 11, self.series.as_ref());
        writer.plain_text(12, self.action.as_deref());
        codec::write_optional(writer, 13, self.related.as_ref());
        writer.plain_text(14, self.reporting_component.as_deref());
        writer.plain_text(15, self.reporting_instance.as_deref());
    }
}

impl Codec for EventSource {
    const NAME: &'static str = "EventSource";

    fn zero() -> Self {
        Self::default()
    }

    fn merge_field(&mut self, number: u32, value: Value<'_>, fields: &Fields<'_>) -> Result<(), DecodeError> {
        match number {
            1 => self.component = codec::plain_text(fields, value)?,
            2 => self.host = codec::plain_text(fields, value)?,
            _ => {}
        }
        Ok(())
    }

    fn write(&self, writer: &mut Writer) {
        writer.plain_text(1, self.component.as_deref());
        writer.plain_text(2, self.host.as_deref());
    }
}

impl Codec for EventSeries {
    const NAME: &'static str = "EventSeries";

    fn zero() -> Self {
        Self::default()
    }

    fn merge_field(&mut self, number: u32, value: Value<'_>, fields: &Fields<'_>) -> Result<(), DecodeError> {
        match number {
            1 => self.count = codec::plain_int32(fields, value)?,
            2 => self.last_observed_time = read_micro_time(fields.bytes(value)?)?,
            _ => {}
        }
        Ok(())
    }

    fn write(&self, writer: &mut Writer) {
        writer.integer(1, self.count.unwrap_or_default());
        write_micro_time(writer, 2, self.last_observed_time.as_ref());
    }
}

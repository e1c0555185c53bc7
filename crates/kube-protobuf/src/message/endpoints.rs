//! `Endpoints`: `k8s.io/api core/v1/generated.proto`.

use k8s_openapi::api::core::v1::{EndpointAddress, EndpointPort, EndpointSubset, Endpoints};

use super::Message;
use super::codec::{self, Codec};
use crate::error::DecodeError;
use crate::reader::{Fields, Value};
use crate::writer::Writer;

impl Message for Endpoints {
    const API_VERSION: &'static str = "v1";
    const KIND: &'static str = "Endpoints";
}

impl Codec for Endpoints {
    const NAME: &'static str = "Endpoints";

    fn zero() -> Self {
        Self::default()
    }

    fn merge_field(&mut self, number: u32, value: Value<'_>, fields: &Fields<'_>) -> Result<(), DecodeError> {
        match number {
            1 => self.metadata.merge(fields.bytes(value)?)?,
            2 => codec::push(&mut self.subsets, fields.bytes(value)?)?,
            _ => {}
        }
        Ok(())
    }

    fn write(&self, writer: &mut Writer) {
        codec::write(writer, 1, &self.metadata);
        codec::write_list(writer, 2, &self.subsets);
    }
}

impl Codec for EndpointSubset {
    const NAME: &'static str = "EndpointSubset";

    fn zero() -> Self {
        Self::default()
    }

    fn merge_field(&mut self, number: u32, value: Value<'_>, fields: &Fields<'_>) -> Result<(), DecodeError> {
        match number {
            1 => codec::push(&mut self.addresses, fields.bytes(value)?)?,
            2 => codec::push(&mut self.not_ready_addresses, fields.bytes(value)?)?,
            3 => codec::push(&mut self.ports, fields.bytes(value)?)?,
            _ => {}
        }
        Ok(())
    }

    fn write(&self, writer: &mut Writer) {
        codec::write_list(writer, 1, &self.addresses);
        codec::write_list(writer, 2, &self.not_ready_addresses);
        codec::write_list(writer, 3, &self.ports);
    }
}

impl Codec for EndpointAddress {
    const NAME: &'static str = "EndpointAddress";

    fn zero() -> Self {
        Self::default()
    }

    fn merge_field(&mut self, number: u32, value: Value<'_>, fields: &Fields<'_>) -> Result<(), DecodeError> {
        match number {
            1 => self.ip = fields.owned_text(value)?,
            2 => codec::merge_optional(&mut self.target_ref, fields.bytes(value)?)?,
            3 => self.hostname = codec::plain_text(fields, value)?,
            4 => self.node_name = Some(fields.owned_text(value)?),
            _ => {}
        }
        Ok(())
    }

    fn write(&self, writer: &mut Writer) {
        writer.text(1, &self.ip);
        codec::write_optional(writer, 2, self.target_ref.as_ref());
        writer.plain_text(3, self.hostname.as_deref());
        writer.optional_text(4, self.node_name.as_deref());
    }
}

impl Codec for EndpointPort {
    const NAME: &'static str = "EndpointPort";

    fn zero() -> Self {
        Self::default()
    }

    fn merge_field(&mut self, number: u32, value: Value<'_>, fields: &Fields<'_>) -> Result<(), DecodeError> {
        match number {
            1 => self.name = codec::plain_text(fields, value)?,
            2 => self.port = fields.int32(value)?,
            3 => self.protocol = codec::plain_text(fields, value)?,
            4 => self.app_protocol = Some(fields.owned_text(value)?),
            _ => {}
        }
        Ok(())
    }

    fn write(&self, writer: &mut Writer) {
        writer.plain_text(1, self.name.as_deref());
        writer.integer(2, self.port);
        writer.plain_text(3, self.protocol.as_deref());
        writer.optional_text(4, self.app_protocol.as_deref());
    }
}

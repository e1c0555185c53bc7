//! `EndpointSlice`: `k8s.io/api discovery/v1/generated.proto`.

use k8s_openapi::api::discovery::v1::{
    Endpoint, EndpointConditions, EndpointHints, EndpointPort, EndpointSlice, ForNode, ForZone,
};

use super::Message;
use super::codec::{self, Codec};
use crate::error::DecodeError;
use crate::reader::{Fields, Value};
use crate::writer::Writer;

impl Message for EndpointSlice {
    const API_VERSION: &'static str = "discovery.k8s.io/v1";
    const KIND: &'static str = "EndpointSlice";
}

impl Codec for EndpointSlice {
    const NAME: &'static str = "EndpointSlice";

    fn zero() -> Self {
        Self::default()
    }

    fn merge_field(&mut self, number: u32, value: Value<'_>, fields: &Fields<'_>) -> Result<(), DecodeError> {
        match number {
            1 => self.metadata.merge(fields.bytes(value)?)?,
            2 => codec::push(&mut self.endpoints, fields.bytes(value)?)?,
            3 => codec::push(&mut self.ports, fields.bytes(value)?)?,
            4 => self.address_type = fields.owned_text(value)?,
            _ => {}
        }
        Ok(())
    }

    fn write(&self, writer: &mut Writer) {
        codec::write(writer, 1, &self.metadata);
        codec::write_list(writer, 2, &self.endpoints);
        codec::write_list(writer, 3, &self.ports);
        writer.text(4, &self.address_type);
    }
}

impl Codec for Endpoint {
    const NAME: &'static str = "Endpoint";

    fn zero() -> Self {
        Self { conditions: Some(EndpointConditions::zero()), ..Self::default() }
    }

    fn merge_field(&mut self, number: u32, value: Value<'_>, fields: &Fields<'_>) -> Result<(), DecodeError> {
        match number {
            1 => self.addresses.push(fields.owned_text(value)?),
            2 => codec::merge_optional(&mut self.conditions, fields.bytes(value)?)?,
            3 => self.hostname = Some(fields.owned_text(value)?),
            4 => codec::merge_optional(&mut self.target_ref, fields.bytes(value)?)?,
            5 => codec::insert(&mut self.deprecated_topology, fields.bytes(value)?)?,
            6 => self.node_name = Some(fields.owned_text(value)?),
            7 => self.zone = Some(fields.owned_text(value)?),
            8 => codec::merge_optional(&mut self.hints, fields.bytes(value)?)?,
            _ => {}
        }
        Ok(())
    }

    fn write(&self, writer: &mut Writer) {
        for address in &self.addresses {
            writer.text(1, address);
        }
        codec::write_plain(writer, 2, self.conditions.as_ref());
        writer.optional_text(3, self.hostname.as_deref());
        codec::write_optional(writer, 4, self.target_ref.as_ref());
        codec::write_map(writer, 5, self.deprecated_topology.as_ref());
        writer.optional_text(6, self.node_name.as_deref());
        writer.optional_text(7, self.zone.as_deref());
        codec::write_optional(writer, 8, self.hints.as_ref());
    }
}

impl Codec for EndpointConditions {
    const NAME: &'static str = "EndpointConditions";

    fn zero() -> Self {
        Self::default()
    }

    fn merge_field(&mut self, number: u32, value: Value<'_>, fields: &Fields<'_>) -> Result<(), DecodeError> {
        match number {
            1 => self.ready = Some(fields.boolean(value)?),
            2 => self.serving = Some(fields.boolean(value)?),
            3 => self.terminating = Some(fields.boolean(value)?),
            _ => {}
        }
        Ok(())
    }

    fn write(&self, writer: &mut Writer) {
        codec::write_integer(writer, 1, self.ready);
        codec::write_integer(writer, 2, self.serving);
        codec::write_integer(writer, 3, self.terminating);
    }
}

impl Codec for EndpointHints {
    const NAME: &'static str = "EndpointHints";

    fn zero() -> Self {
        Self::default()
    }

    fn merge_field(&mut self, number: u32, value: Value<'_>, fields: &Fields<'_>) -> Result<(), DecodeError> {
        match number {
            1 => codec::push(&mut self.for_zones, fields.bytes(value)?)?,
            2 => codec::push(&mut self.for_nodes, fields.bytes(value)?)?,
            _ => {}
        }
        Ok(())
    }

    fn write(&self, writer: &mut Writer) {
        codec::write_list(writer, 1, &self.for_zones);
        codec::write_list(writer, 2, &self.for_nodes);
    }
}

impl Codec for ForZone {
    const NAME: &'static str = "ForZone";

    fn zero() -> Self {
        Self::default()
    }

    fn merge_field(&mut self, number: u32, value: Value<'_>, fields: &Fields<'_>) -> Result<(), DecodeError> {
        if number == 1 {
            self.name = fields.owned_text(value)?;
        }
        Ok(())
    }

    fn write(&self, writer: &mut Writer) {
        writer.text(1, &self.name);
    }
}

impl Codec for ForNode {
    const NAME: &'static str = "ForNode";

    fn zero() -> Self {
        Self::default()
    }

    fn merge_field(&mut self, number: u32, value: Value<'_>, fields: &Fields<'_>) -> Result<(), DecodeError> {
        if number == 1 {
            self.name = fields.owned_text(value)?;
        }
        Ok(())
    }

    fn write(&self, writer: &mut Writer) {
        writer.text(1, &self.name);
    }
}

/// Unlike `EndpointPort` of core/v1, all fields are optional.
impl Codec for EndpointPort {
    const NAME: &'static str = "EndpointPort";

    fn zero() -> Self {
        Self::default()
    }

    fn merge_field(&mut self, number: u32, value: Value<'_>, fields: &Fields<'_>) -> Result<(), DecodeError> {
        match number {
            1 => self.name = Some(fields.owned_text(value)?),
            2 => self.protocol = Some(fields.owned_text(value)?),
            3 => self.port = Some(fields.int32(value)?),
            4 => self.app_protocol = Some(fields.owned_text(value)?),
            _ => {}
        }
        Ok(())
    }

    fn write(&self, writer: &mut Writer) {
        writer.optional_text(1, self.name.as_deref());
        writer.optional_text(2, self.protocol.as_deref());
        codec::write_integer(writer, 3, self.port);
        writer.optional_text(4, self.app_protocol.as_deref());
    }
}

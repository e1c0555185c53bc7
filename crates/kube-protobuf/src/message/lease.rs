//! `Lease`: `k8s.io/api coordination/v1/generated.proto`.

use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};

use super::Message;
use super::codec::{self, Codec};
use super::meta::{read_micro_time, write_micro_time};
use crate::error::DecodeError;
use crate::reader::{Fields, Value};
use crate::writer::Writer;

impl Message for Lease {
    const API_VERSION: &'static str = "coordination.k8s.io/v1";
    const KIND: &'static str = "Lease";
}

impl Codec for Lease {
    const NAME: &'static str = "Lease";

    fn zero() -> Self {
        Self { spec: Some(LeaseSpec::zero()), ..Self::default() }
    }

    fn merge_field(&mut self, number: u32, value: Value<'_>, fields: &Fields<'_>) -> Result<(), DecodeError> {
        match number {
            1 => self.metadata.merge(fields.bytes(value)?)?,
            2 => codec::merge_optional(&mut self.spec, fields.bytes(value)?)?,
            _ => {}
        }
        Ok(())
    }

    fn write(&self, writer: &mut Writer) {
        codec::write(writer, 1, &self.metadata);
        codec::write_plain(writer, 2, self.spec.as_ref());
    }
}

impl Codec for LeaseSpec {
    const NAME: &'static str = "LeaseSpec";

    fn zero() -> Self {
        Self::default()
    }

    fn merge_field(&mut self, number: u32, value: Value<'_>, fields: &Fields<'_>) -> Result<(), DecodeError> {
        match number {
            1 => self.holder_identity = Some(fields.owned_text(value)?),
            2 => self.lease_duration_seconds = Some(fields.int32(value)?),
            3 => self.acquire_time = read_micro_time(fields.bytes(value)?)?,
            4 => self.renew_time = read_micro_time(fields.bytes(value)?)?,
            5 => self.lease_transitions = Some(fields.int32(value)?),
            6 => self.strategy = Some(fields.owned_text(value)?),
            7 => self.preferred_holder = Some(fields.owned_text(value)?),
            _ => {}
        }
        Ok(())
    }

    fn write(&self, writer: &mut Writer) {
        writer.optional_text(1, self.holder_identity.as_deref());
        codec::write_integer(writer, 2, self.lease_duration_seconds);
        if self.acquire_time.is_some() {
            write_micro_time(writer, 3, self.acquire_time.as_ref());
        }
        if self.renew_time.is_some() {
            write_micro_time(writer, 4, self.renew_time.as_ref());
        }
        codec::write_integer(writer, 5, self.lease_transitions);
        writer.optional_text(6, self.strategy.as_deref());
        writer.optional_text(7, self.preferred_holder.as_deref());
    }
}

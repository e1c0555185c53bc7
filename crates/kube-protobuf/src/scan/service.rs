//! Services.

use super::meta::MetaView;
use super::values::text_entry;
use crate::error::DecodeError;
use crate::reader::Fields;

/// The fields of a Service that endpoints need: `v1.Service` of `k8s.io/api core/v1/generated.proto`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServiceView<'a> {
    /// The metadata.
    pub meta: MetaView<'a>,
    /// `spec.type`.
    pub service_type: &'a str,
    /// `spec.clusterIP`; `None` (the word) for headless Services.
    pub cluster_ip: &'a str,
    /// `spec.selector`, in the order of the message. Protobuf does not distinguish an absent selector from an empty one.
    pub selector: Vec<(&'a str, &'a str)>,
    /// `spec.ports`, in order.
    pub ports: Vec<ServicePortView<'a>>,
    /// `spec.ipFamilies`, in order.
    pub ip_families: Vec<&'a str>,
    /// `spec.publishNotReadyAddresses`.
    pub publish_not_ready_addresses: bool,
    /// True if `spec.externalTrafficPolicy` or `spec.internalTrafficPolicy` is `Local`.
    pub has_local_policy: bool,
    /// `spec.trafficDistribution`.
    pub traffic_distribution: Option<&'a str>,
}

/// A port of a Service.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ServicePortView<'a> {
    /// The name; empty is allowed if it is the only port.
    pub name: &'a str,
    /// The protocol; `TCP` by default.
    pub protocol: &'a str,
    /// The port of the Service itself.
    pub port: i32,
    /// The port of the Pods behind it.
    pub target_port: TargetPort<'a>,
    /// The application protocol.
    pub app_protocol: Option<&'a str>,
}

/// The target port of a Service port: `intstr.IntOrString` of
/// `k8s.io/apimachinery pkg/util/intstr/generated.proto`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TargetPort<'a> {
    /// The number of a port.
    Number(i32),
    /// The name of a container port.
    Name(&'a str),
}

impl Default for TargetPort<'_> {
    fn default() -> Self {
        Self::Number(0)
    }
}

impl<'a> ServiceView<'a> {
    /// Reads a Service from its message (an item of a list, or the [`raw`](crate::Unknown::raw) of an envelope).
    pub fn parse(raw: &'a [u8]) -> Result<Self, DecodeError> {
        let mut service = Self::default();
        let mut fields = Fields::new("Service", raw);
        while let Some((number, value)) = fields.next_field()? {
            match number {
                1 => service.meta.merge(fields.bytes(value)?)?,
                2 => service.merge_spec(fields.bytes(value)?)?,
                _ => {}
            }
        }
        Ok(service)
    }

    /// True if the Service selects Pods. Endpoints of other Services are managed by other clients.
    pub fn has_selector(&self) -> bool {
        !self.selector.is_empty()
    }

    fn merge_spec(&mut self, bytes: &'a [u8]) -> Result<(), DecodeError> {
        let mut fields = Fields::new("ServiceSpec", bytes);
        while let Some((number, value)) = fields.next_field()? {
            match number {
                1 => self.ports.push(ServicePortView::parse(fields.bytes(value)?)?),
                2 => self.selector.push(text_entry(fields.bytes(value)?)?),
                3 => self.cluster_ip = fields.text(value)?,
                4 => self.service_type = fields.text(value)?,
                11 | 22 => self.has_local_policy |= fields.bytes(value)? == b"Local",
                13 => self.publish_not_ready_addresses = fields.boolean(value)?,
                19 => self.ip_families.push(fields.text(value)?),
                23 => self.traffic_distribution = Some(fields.text(value)?),
                _ => {}
            }
        }
        Ok(())
    }
}

impl<'a> ServicePortView<'a> {
    fn parse(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let mut port = Self::default();
        let mut fields = Fields::new("ServicePort", bytes);
        while let Some((number, value)) = fields.next_field()? {
            match number {
                1 => port.name = fields.text(value)?,
                2 => port.protocol = fields.text(value)?,
                3 => port.port = fields.int32(value)?,
                4 => port.target_port = TargetPort::parse(fields.bytes(value)?)?,
                6 => port.app_protocol = Some(fields.text(value)?),
                _ => {}
            }
        }
        if port.protocol.is_empty() {
            port.protocol = "TCP";
        }
        Ok(port)
    }
}

impl<'a> TargetPort<'a> {
    fn parse(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        const STRING: i64 = 1;
        let (mut kind, mut number_value, mut name) = (0, 0, "");
        let mut fields = Fields::new("IntOrString", bytes);
        while let Some((number, value)) = fields.next_field()? {
            match number {
                1 => kind = fields.int64(value)?,
                2 => number_value = fields.int32(value)?,
                3 => name = fields.text(value)?,
                _ => {}
            }
        }
        Ok(if kind == STRING { Self::Name(name) } else { Self::Number(number_value) })
    }
}

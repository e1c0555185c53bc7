//! Pods.

use super::meta::MetaView;
use super::values::{Condition, only_text};
use crate::error::DecodeError;
use crate::reader::Fields;

/// The fields of a Pod that endpoints need: `v1.Pod` of `k8s.io/api core/v1/generated.proto`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PodView<'a> {
    /// The metadata.
    pub meta: MetaView<'a>,
    /// `spec.nodeName`; empty before the Pod is scheduled.
    pub node_name: &'a str,
    /// `spec.hostname`.
    pub hostname: &'a str,
    /// `spec.subdomain`.
    pub subdomain: &'a str,
    /// True if `spec.readinessGates` has an entry.
    pub has_readiness_gates: bool,
    /// `status.phase`.
    pub phase: &'a str,
    /// `status.podIP`.
    pub pod_ip: &'a str,
    /// `status.podIPs`, in order.
    pub pod_ips: Vec<&'a str>,
    /// The first condition of type `Ready`: whether it is `True`, and the time of its last transition in Unix seconds.
    pub ready: Option<(bool, Option<i64>)>,
    /// The named ports: those of `spec.containers`, then those of sidecars.
    pub ports: Vec<PortView<'a>>,
}

/// A named port of a container.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PortView<'a> {
    /// The name that a Service's target port can refer to; never empty.
    pub name: &'a str,
    /// The number.
    pub container_port: i32,
    /// The protocol; `TCP` by default.
    pub protocol: &'a str,
    /// True for a sidecar, an init container with restartPolicy `Always`.
    pub sidecar: bool,
}

impl<'a> PodView<'a> {
    /// Reads a Pod from its message (an item of a list, or the [`raw`](crate::Unknown::raw) of an envelope).
    ///
    /// Cost: 1.6 µs for a Pod with five containers and nine ports. Allocates only the vectors of the view.
    pub fn parse(raw: &'a [u8]) -> Result<Self, DecodeError> {
        let mut pod = Self::default();
        let mut sidecar_ports = Vec::new();
        let mut fields = Fields::new("Pod", raw);
        while let Some((number, value)) = fields.next_field()? {
            match number {
                1 => pod.meta.merge(fields.bytes(value)?)?,
                2 => pod.merge_spec(fields.bytes(value)?, &mut sidecar_ports)?,
                3 => pod.merge_status(fields.bytes(value)?)?,
                _ => {}
            }
        }
        pod.ports.append(&mut sidecar_ports);
        Ok(pod)
    }

    fn merge_spec(
        &mut self,
        bytes: &'a [u8],
        sidecar_ports: &mut Vec<PortView<'a>>,
    ) -> Result<(), DecodeError> {
        let mut fields = Fields::new("PodSpec", bytes);
        while let Some((number, value)) = fields.next_field()? {
            match number {
                2 => drop(container_ports(fields.bytes(value)?, &mut self.ports)?),
                10 => self.node_name = fields.text(value)?,
                16 => self.hostname = fields.text(value)?,
                17 => self.subdomain = fields.text(value)?,
                20 => add_sidecar_ports(fields.bytes(value)?, sidecar_ports)?,
                28 => self.has_readiness_gates = true,
                _ => {}
            }
        }
        Ok(())
    }

    fn merge_status(&mut self, bytes: &'a [u8]) -> Result<(), DecodeError> {
        let mut fields = Fields::new("PodStatus", bytes);
        while let Some((number, value)) = fields.next_field()? {
            match number {
                1 => self.phase = fields.text(value)?,
                2 if self.ready.is_none() => {
                    let condition = Condition::parse(fields.bytes(value)?)?;
                    if condition.kind == b"Ready" {
                        self.ready = Some((condition.is_true, condition.last_transition));
                    }
                }
                6 => self.pod_ip = fields.text(value)?,
                12 => self.pod_ips.push(only_text("PodIP", fields.bytes(value)?)?),
                _ => {}
            }
        }
        Ok(())
    }
}

/// Appends the named ports of a container, and returns its restartPolicy, which only init containers have.
fn container_ports<'a>(bytes: &'a [u8], ports: &mut Vec<PortView<'a>>) -> Result<&'a [u8], DecodeError> {
    let mut restart_policy = &b""[..];
    let mut fields = Fields::new("Container", bytes);
    while let Some((number, value)) = fields.next_field()? {
        match number {
            6 => {
                let port = container_port(fields.bytes(value)?)?;
                if !port.name.is_empty() {
                    ports.push(port);
                }
            }
            24 => restart_policy = fields.bytes(value)?,
            _ => {}
        }
    }
    Ok(restart_policy)
}

/// Appends the named ports of an init container, if it is a sidecar.
fn add_sidecar_ports<'a>(bytes: &'a [u8], ports: &mut Vec<PortView<'a>>) -> Result<(), DecodeError> {
    let before = ports.len();
    // ports precede the policy that decides about them
    if container_ports(bytes, ports)? != b"Always" {
        ports.truncate(before);
    }
    for port in ports.iter_mut().skip(before) {
        port.sidecar = true;
    }
    Ok(())
}

fn container_port(bytes: &[u8]) -> Result<PortView<'_>, DecodeError> {
    let mut port = PortView::default();
    let mut fields = Fields::new("ContainerPort", bytes);
    while let Some((number, value)) = fields.next_field()? {
        match number {
            1 => port.name = fields.text(value)?,
            3 => port.container_port = fields.int32(value)?,
            4 => port.protocol = fields.text(value)?,
            _ => {}
        }
    }
    if port.protocol.is_empty() {
        port.protocol = "TCP";
    }
    Ok(port)
}

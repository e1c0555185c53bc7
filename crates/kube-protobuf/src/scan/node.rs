//! Nodes.

use super::meta::MetaView;
use super::values::{Condition, map_entry, only_text};
use crate::error::DecodeError;
use crate::reader::Fields;

/// The fields of a Node that endpoints need: `v1.Node` of `k8s.io/api core/v1/generated.proto`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeView<'a> {
    /// The metadata; the zone is one of the labels.
    pub meta: MetaView<'a>,
    /// True if the condition of type `Ready` is `True`.
    pub ready: bool,
    /// `status.allocatable.cpu` as a quantity, such as `3920m`; empty if unknown.
    pub allocatable_cpu: &'a str,
}

impl<'a> NodeView<'a> {
    /// Reads a Node from its message (an item of a list, or the [`raw`](crate::Unknown::raw) of an envelope).
    pub fn parse(raw: &'a [u8]) -> Result<Self, DecodeError> {
        let mut node = Self::default();
        let mut fields = Fields::new("Node", raw);
        while let Some((number, value)) = fields.next_field()? {
            match number {
                1 => node.meta.merge(fields.bytes(value)?)?,
                3 => node.merge_status(fields.bytes(value)?)?,
                _ => {}
            }
        }
        Ok(node)
    }

    fn merge_status(&mut self, bytes: &'a [u8]) -> Result<(), DecodeError> {
        let mut fields = Fields::new("NodeStatus", bytes);
        while let Some((number, value)) = fields.next_field()? {
            match number {
                2 => {
                    let (resource, amount) = map_entry(fields.bytes(value)?)?;
                    if resource == b"cpu" {
                        self.allocatable_cpu = only_text("Quantity", amount)?;
                    }
                }
                4 => {
                    let condition = Condition::parse(fields.bytes(value)?)?;
                    if condition.kind == b"Ready" {
                        self.ready = condition.is_true;
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }
}

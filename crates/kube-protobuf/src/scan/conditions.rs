//! All conditions of Pods and Nodes, for readers that need more than the status of the one of type Ready.

use super::values::time_seconds;
use crate::error::DecodeError;
use crate::reader::Fields;

/// A condition. `PodCondition` and `NodeCondition` number these fields alike.
///
/// A text that is not UTF-8 is read as a replacement character, which is not a type, status or reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ConditionView<'a> {
    /// `type`.
    pub kind: &'a str,
    /// `status`: `True`, `False` or `Unknown`.
    pub status: &'a str,
    /// `reason`; empty if there is none.
    pub reason: &'a str,
    /// `lastTransitionTime`, in Unix seconds.
    pub last_transition: Option<i64>,
}

impl<'a> ConditionView<'a> {
    /// The conditions of a Node, in order, from its message.
    pub fn of_node(raw: &'a [u8]) -> Result<Vec<Self>, DecodeError> {
        let mut conditions = Vec::new();
        for status in nested("Node", 3, raw)? {
            for condition in nested("NodeStatus", 4, status)? {
                conditions.push(Self::parse(condition)?);
            }
        }
        Ok(conditions)
    }

    fn parse(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let mut condition = Self::default();
        let mut fields = Fields::new("condition", bytes);
        while let Some((number, value)) = fields.next_field()? {
            match number {
                1 => condition.kind = text(fields.bytes(value)?),
                2 => condition.status = text(fields.bytes(value)?),
                4 => condition.last_transition = time_seconds(fields.bytes(value)?)?,
                5 => condition.reason = text(fields.bytes(value)?),
                _ => {}
            }
        }
        Ok(condition)
    }
}

/// The conditions of a Pod, and those that its readiness gates name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PodConditionsView<'a> {
    /// `status.conditions`, in order.
    pub conditions: Vec<ConditionView<'a>>,
    /// `spec.readinessGates[].conditionType`, in order.
    pub readiness_gates: Vec<&'a str>,
}

impl<'a> PodConditionsView<'a> {
    /// Reads a Pod from its message.
    pub fn parse(raw: &'a [u8]) -> Result<Self, DecodeError> {
        let mut view = Self::default();
        for spec in nested("Pod", 2, raw)? {
            for gate in nested("PodSpec", 28, spec)? {
                view.readiness_gates.extend(nested("PodReadinessGate", 1, gate)?.into_iter().map(text));
            }
        }
        for status in nested("Pod", 3, raw)? {
            for condition in nested("PodStatus", 2, status)? {
                view.conditions.push(ConditionView::parse(condition)?);
            }
        }
        Ok(view)
    }
}

/// The values of one field, in order.
fn nested<'a>(message: &'static str, wanted: u32, bytes: &'a [u8]) -> Result<Vec<&'a [u8]>, DecodeError> {
    let mut values = Vec::new();
    let mut fields = Fields::new(message, bytes);
    while let Some((number, value)) = fields.next_field()? {
        if number == wanted {
            values.push(fields.bytes(value)?);
        }
    }
    Ok(values)
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap_or("\u{fffd}")
}

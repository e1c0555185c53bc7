//! Nodes.

use std::sync::Arc;

use endpointslice::model::{ConditionFields, NodeFields};
use endpointslice::{Interner, Node};
use k8s_openapi::api::core::v1 as core;
use kube_protobuf::{ConditionView, DecodeError, NodeView};

use super::conditions::condition_fields;
use crate::resource::{Index, Resource};

impl Resource for Node {
    const KIND: &'static str = "Node";
    const RESOURCE: &'static str = "nodes";
    const PATH: &'static str = "/api/v1/nodes";
    const NAMESPACED: bool = false;
    const HAS_PROTOBUF: bool = true;

    type Index = ZoneChanges;

    fn read_protobuf<'a>(raw: &'a [u8], interner: &mut Interner) -> Result<(Self, &'a str), DecodeError> {
        let NodeView { meta, ready, allocatable_cpu, .. } = NodeView::parse(raw)?;
        let fields = NodeFields { name: meta.name, labels: meta.labels, ready, allocatable_cpu };
        let node = Self::new(&fields, interner);
        if !interner.reads_conditions() {
            return Ok((node, meta.resource_version));
        }
        let conditions = ConditionView::of_node(raw)?;
        let conditions: Vec<ConditionFields<'_>> = conditions.iter().map(condition_fields).collect();
        let node = node.with_conditions(&fields.labels, &conditions, meta.creation_timestamp);
        Ok((node, meta.resource_version))
    }

    fn read_json(json: &str, interner: &mut Interner) -> Result<(Self, String), serde_json::Error> {
        let node: core::Node = serde_json::from_str(json)?;
        let object = Self::from_api(&node, interner);
        Ok((object, node.metadata.resource_version.unwrap_or_default()))
    }

    fn namespace(&self) -> &'static str {
        ""
    }

    fn name(&self) -> &str {
        &self.name
    }

    /// Compares only what is cached: a Node's status is written every few minutes, and almost none of it matters here.
    fn is_same(&self, other: &Self) -> bool {
        self == other
    }
}

/// Counts the changes of nodes that matter to endpoints: of the zone, and of the existence.
#[derive(Default)]
pub struct ZoneChanges(u64);

impl ZoneChanges {
    pub(crate) fn count(&self) -> u64 {
        self.0
    }
}

impl Index<Node> for ZoneChanges {
    fn insert(&mut self, _: &Arc<Node>) {
        self.0 += 1;
    }

    fn remove(&mut self, _: &Arc<Node>) {
        self.0 += 1;
    }

    fn replace(&mut self, old: &Arc<Node>, new: &Arc<Node>) {
        self.0 += u64::from(old.zone != new.zone);
    }
}

//! Operations on nodes.

use serde_json::json;

use super::Generator;
use crate::operation::Operation;
use crate::rng::Rng;

/// Nodes `a` to `c` exist from the beginning; `lost` never does.
pub(super) const NODES: [&str; 6] = ["a", "b", "c", "d", "e", "f"];
const MISSING_NODE: &str = "lost";

impl Generator {
    /// A node for a pod: an existing one, a later one, or one that never exists.
    pub(super) fn any_node(&mut self) -> String {
        let rng = &mut self.rng;
        let existing = rng.any(self.nodes.keys().copied());
        match (existing, rng.below(100)) {
            (_, 0..3) => MISSING_NODE.to_owned(),
            (_, 3..8) | (None, _) => (*rng.pick(&NODES)).to_owned(),
            (Some(node), _) => node.to_owned(),
        }
    }

    pub(super) fn create_node(&mut self) -> Option<Operation> {
        let name = self.rng.any(NODES.into_iter().filter(|name| !self.nodes.contains_key(name)))?;
        self.nodes.insert(name, true);
        let (zone, ready) = (zone(&mut self.rng), self.rng.percent(80));
        Some(Operation::CreateNode { name: name.to_owned(), zone, cpu: cpu(name), ready })
    }

    pub(super) fn label_node(&mut self) -> Option<Operation> {
        let name = self.rng.any(self.nodes.keys().copied())?;
        let labels = match self.rng.below(10) {
            0 => json!({"unrelated": self.rng.below(1000).to_string()}),
            _ => json!({"topology.kubernetes.io/zone": zone(&mut self.rng)}),
        };
        Some(Operation::LabelNode { name: name.to_owned(), labels })
    }

    pub(super) fn node_readiness(&mut self) -> Option<Operation> {
        let name = self.rng.any(self.nodes.keys().copied())?;
        let ready = self.rng.percent(70);
        Some(Operation::ChangeNodeReadiness { name: name.to_owned(), cpu: cpu(name), ready })
    }

    pub(super) fn delete_node(&mut self) -> Option<Operation> {
        let name = self.rng.any(self.nodes.keys().copied())?;
        self.nodes.remove(name);
        Some(Operation::DeleteNode { name: name.to_owned() })
    }
}

fn zone(rng: &mut Rng) -> Option<String> {
    let zone = *rng.pick(&[Some("a"), Some("a"), Some("b"), Some("b"), Some("c"), None]);
    zone.map(ToOwned::to_owned)
}

/// Different numbers, so that the shares of zones are seldom equal.
fn cpu(node: &str) -> u32 {
    let index = NODES.iter().position(|name| *name == node).unwrap();
    [2, 3, 5, 7, 11, 13][index]
}

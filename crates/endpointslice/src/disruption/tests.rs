use super::*;
use crate::model::{Interner, Kubelet, Node, NodeFields};

mod partitions;
mod properties;
mod rules;

const READY: Kubelet = Kubelet::Posting { ready_since: Some(0), returned: None, created: None };

fn lost(since: i64) -> Kubelet {
    Kubelet::Lost { since }
}

fn back(at: i64) -> Kubelet {
    back_and_ready(at, at)
}

/// A kubelet that calls its node not ready.
fn not_ready(returned: Option<i64>) -> Kubelet {
    Kubelet::Posting { ready_since: None, returned, created: None }
}

fn back_and_ready(at: i64, ready_since: i64) -> Kubelet {
    Kubelet::Posting { ready_since: Some(ready_since), returned: Some(at), created: None }
}

fn new(created: i64, ready_since: i64) -> Kubelet {
    Kubelet::Posting { ready_since: Some(ready_since), returned: None, created: Some(created) }
}

fn node(name: &str, kubelet: Kubelet) -> Node {
    let fields = NodeFields { name, ready: kubelet == READY, ..NodeFields::default() };
    Node { kubelet, ..Node::new(&fields, &mut Interner::default()) }
}

/// Nodes `n0`, `n1`, … with these kubelets, as they are found at a time.
fn nodes(kubelets: &[Kubelet], policy: Policy, now: i64) -> Nodes {
    let mut nodes = Nodes::new(policy);
    for (number, kubelet) in kubelets.iter().enumerate() {
        let _ = nodes.observe(&node(&format!("n{number}"), *kubelet), now);
    }
    nodes
}

fn period(kubelets: &[Kubelet], now: i64) -> Period {
    let states: Vec<ScopeState> = nodes(kubelets, Policy::default(), now).scopes().collect();
    states[0].period
}

//! Older Kubernetes releases: the flags of programs on them, and the differences that tests allow there
//! (`hack/matrix`, `docs/reference/versions.md`).

use k8s_openapi::api::core::v1::{EndpointSubset, Endpoints};
use kube::{Client, ResourceExt as _};

use crate::audit::Request;
use crate::manager::Kind;

/// The minor release that this program behaves as without flags.
fn newest() -> u16 {
    let module = include_str!("../../hack/testenv/go.mod");
    let version = module.lines().find_map(|line| line.trim().strip_prefix("k8s.io/kubernetes v1."));
    let minor = version.and_then(|version| version.split('.').next()?.parse().ok());
    minor.expect("hack/testenv/go.mod names a release of k8s.io/kubernetes")
}

/// A release `1.<minor>` of the API server, alongside upstream's controllers of the same release.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Release(pub(crate) u16);

impl Release {
    /// That of a cluster.
    pub(crate) async fn of(client: &Client) -> Self {
        let version = client.apiserver_version().await.expect("the version of the API server");
        Self(version.minor.trim_end_matches('+').parse().expect("a minor version"))
    }

    /// True if the API server deletes the Endpoints of a deleted Service, so that two delete them.
    pub(crate) fn deletes_endpoints(self) -> bool {
        self.0 < 37
    }

    /// True if admission policies that mutate are served without a flag.
    pub(crate) fn has_mutating_policies(self) -> bool {
        self.0 >= 36
    }

    /// True if upstream orders ports and subsets by their MD5 hash, and not by FNV as since 1.35.
    pub(crate) fn has_other_order(self) -> bool {
        self.0 < 35
    }

    /// True if upstream takes a slice without ports for one with other ports, and so writes it at every sync.
    pub(crate) fn rewrites_slices_without_ports(self) -> bool {
        self.0 < 36
    }

    /// True for such a write.
    pub(crate) fn is_rewrite_without_ports(self, request: &Request) -> bool {
        let ports = request.body.as_ref().and_then(|body| body.get("ports")?.as_array());
        self.rewrites_slices_without_ports()
            && request.resource == "endpointslices"
            && request.verb == "update"
            && ports.is_none_or(Vec::is_empty)
    }

    /// Removes the writes that upstream makes when it follows ours on this release, and says how many.
    pub(crate) fn retain_unexpected(self, before: &[Endpoints], writes: &mut Vec<Request>) {
        if self.rewrites_slices_without_ports() {
            let all = writes.len();
            writes.retain(|write| !self.is_rewrite_without_ports(write));
            println!("1.{}: {} writes of slices without ports", self.0, all - writes.len());
        }
        if self.has_other_order() {
            let all = writes.len();
            writes.retain(|write| !only_reorders(before, write));
            println!("1.{}: {} writes that only change an order", self.0, all - writes.len());
        }
    }
}

/// The flag of a manager on a release: ours is never newer than the API server.
pub(crate) fn manager_flag(minor: u16, kind: Kind) -> Option<String> {
    (kind == Kind::Ours && minor < newest()).then(|| format!("--emulated-version=1.{minor}"))
}

/// True for an update of Endpoints that changes nothing but the order of ports, addresses and subsets, besides the time of
/// the last change.
fn only_reorders(before: &[Endpoints], request: &Request) -> bool {
    let Some(body) =
        request.body.clone().filter(|_| request.verb == "update" && request.resource == "endpoints")
    else {
        return false;
    };
    let written: Endpoints = serde_json::from_value(body).expect("Endpoints");
    let is_same =
        |stored: &&Endpoints| stored.name_any() == request.name && stored.namespace() == written.namespace();
    let Some(stored) = before.iter().find(is_same) else { return false };
    stored.labels() == written.labels()
        && stored.subsets != written.subsets
        && sorted(stored.subsets.as_deref()) == sorted(written.subsets.as_deref())
}

/// The texts of subsets in an order that does not depend on that of their parts.
fn sorted(subsets: Option<&[EndpointSubset]>) -> Vec<String> {
    let text = |subset: &EndpointSubset| {
        let EndpointSubset { addresses, not_ready_addresses, ports } = subset;
        let mut ports: Vec<String> = ports.iter().flatten().map(|port| format!("{port:?}")).collect();
        ports.sort_unstable();
        let addresses = [addresses, not_ready_addresses].map(|addresses| {
            let mut addresses: Vec<String> =
                addresses.iter().flatten().map(|address| format!("{address:?}")).collect();
            addresses.sort_unstable();
            addresses
        });
        format!("{ports:?} {addresses:?}")
    };
    let mut texts: Vec<String> = subsets.unwrap_or_default().iter().map(text).collect();
    texts.sort_unstable();
    texts
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn endpoints(ports: &[u16], address: &str) -> Value {
        let ports: Vec<Value> = ports.iter().map(|port| json!({"port": port})).collect();
        json!({"metadata": {"namespace": "a", "name": "web"}, "subsets": [{"addresses": [{"ip": address}], "ports": ports}]})
    }

    fn update(body: Value) -> Request {
        Request {
            verb: "update".to_owned(),
            resource: "endpoints".to_owned(),
            namespace: "a".to_owned(),
            name: "web".to_owned(),
            user: String::new(),
            user_agent: String::new(),
            code: 200,
            body: Some(body),
            received: jiff::Timestamp::UNIX_EPOCH,
            answered: jiff::Timestamp::UNIX_EPOCH,
        }
    }

    #[test]
    fn only_another_order_of_the_same_content_is_a_reorder() {
        let before: Vec<Endpoints> = vec![serde_json::from_value(endpoints(&[80, 443], "10.0.0.1")).unwrap()];
        let is_reorder = |ports: &[u16], address| only_reorders(&before, &update(endpoints(ports, address)));
        assert!(is_reorder(&[443, 80], "10.0.0.1"));
        assert!(!is_reorder(&[80, 443], "10.0.0.1"), "an update of nothing");
        assert!(!is_reorder(&[443, 80], "10.0.0.2"));
        assert!(!is_reorder(&[443, 81], "10.0.0.1"));
    }
}

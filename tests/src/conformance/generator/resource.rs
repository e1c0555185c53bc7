//! The resources as data.

use random_operations::rng::Rng;
use serde_json::Value;

use super::objects as o;
use crate::conformance::request::Edit;

/// A resource, and how to make and change its objects.
pub(crate) struct Resource {
    pub(crate) plural: &'static str,
    pub(crate) kind: &'static str,
    pub(crate) api_version: &'static str,
    /// The path of the group and version.
    pub(crate) api: &'static str,
    pub(crate) namespaced: bool,
    pub(crate) status: bool,
    /// Its share of the random choices.
    pub(crate) weight: usize,
    /// Field selectors besides the name.
    pub(crate) fields: &'static [&'static str],
    /// The content of a valid object, without metadata.
    pub(crate) content: fn(&mut Rng) -> Value,
    /// A change, which is mostly allowed.
    pub(crate) change: fn(&mut Rng) -> Vec<Edit>,
    pub(crate) status_change: fn(&mut Rng) -> Vec<Edit>,
    /// A change that validation refuses.
    pub(crate) invalid: fn(&mut Rng) -> Vec<Edit>,
}

/// The plainest one; the others name what is different.
const SERVICE_ACCOUNTS: Resource = Resource {
    plural: "serviceaccounts",
    kind: "ServiceAccount",
    api_version: "v1",
    api: "/api/v1",
    namespaced: true,
    status: false,
    weight: 5,
    fields: &[],
    content: o::service_account,
    change: |rng| o::or_metadata(rng, "change of a ServiceAccount"),
    status_change: o::nothing,
    invalid: |rng| o::edit(rng, "invalid metadata"),
};

/// All resources with objects.
pub(crate) static RESOURCES: &[Resource] = &[
    Resource {
        plural: "pods",
        kind: "Pod",
        status: true,
        weight: 20,
        fields: &[
            "spec.nodeName=n1",
            "spec.nodeName!=n1",
            "status.phase=Running",
            "status.podIP=10.0.0.1",
            "spec.restartPolicy=Always",
            "spec.schedulerName=default-scheduler",
            "spec.serviceAccountName=default",
            "status.nominatedNodeName=",
            "spec.hostNetwork=false",
            "spec.nodeName=,status.phase!=Failed",
        ],
        content: o::pod,
        change: |rng| o::or_metadata(rng, "change of a pod"),
        status_change: o::pod_status,
        invalid: |rng| o::or_invalid_metadata(rng, "invalid pod"),
        ..SERVICE_ACCOUNTS
    },
    Resource {
        plural: "services",
        kind: "Service",
        status: true,
        weight: 20,
        fields: &["spec.type=ClusterIP", "spec.clusterIP=None", "spec.type!=NodePort"],
        content: o::service,
        change: o::change_service,
        status_change: |rng| o::edit(rng, "status of a Service"),
        invalid: |rng| o::or_invalid_metadata(rng, "invalid Service"),
        ..SERVICE_ACCOUNTS
    },
    Resource {
        plural: "endpoints",
        kind: "Endpoints",
        weight: 8,
        content: o::endpoints,
        change: o::change_endpoints,
        invalid: |rng| o::or_invalid_metadata(rng, "invalid Endpoints"),
        ..SERVICE_ACCOUNTS
    },
    Resource {
        plural: "endpointslices",
        kind: "EndpointSlice",
        api_version: "discovery.k8s.io/v1",
        api: "/apis/discovery.k8s.io/v1",
        weight: 12,
        content: o::slice,
        change: o::change_slice,
        invalid: |rng| o::or_invalid_metadata(rng, "invalid slice"),
        ..SERVICE_ACCOUNTS
    },
    Resource {
        plural: "events",
        kind: "Event",
        weight: 4,
        fields: &[
            "involvedObject.name=p0",
            "involvedObject.kind=Pod",
            "reason=Created",
            "type=Normal",
            "source=kubelet",
            "reportingComponent=",
            "involvedObject.uid=",
            "involvedObject.fieldPath!=x",
        ],
        content: o::event,
        change: |rng| o::or_metadata(rng, "change of an Event"),
        invalid: |rng| o::edit(rng, "invalid Event"),
        ..SERVICE_ACCOUNTS
    },
    Resource {
        plural: "leases",
        kind: "Lease",
        api_version: "coordination.k8s.io/v1",
        api: "/apis/coordination.k8s.io/v1",
        weight: 6,
        content: o::lease,
        change: |rng| o::or_metadata(rng, "change of a Lease"),
        ..SERVICE_ACCOUNTS
    },
    SERVICE_ACCOUNTS,
    Resource {
        plural: "replicasets",
        kind: "ReplicaSet",
        api_version: "apps/v1",
        api: "/apis/apps/v1",
        status: true,
        weight: 5,
        fields: &["status.replicas=0"],
        content: o::replica_set,
        change: |rng| o::or_metadata(rng, "change of a workload"),
        status_change: |rng| o::edit(rng, "status of a workload"),
        ..SERVICE_ACCOUNTS
    },
    Resource {
        plural: "deployments",
        kind: "Deployment",
        api_version: "apps/v1",
        api: "/apis/apps/v1",
        status: true,
        weight: 6,
        content: o::deployment,
        change: |rng| o::or_metadata(rng, "change of a workload"),
        status_change: |rng| o::edit(rng, "status of a workload"),
        ..SERVICE_ACCOUNTS
    },
    Resource {
        plural: "nodes",
        kind: "Node",
        namespaced: false,
        status: true,
        weight: 6,
        fields: &["spec.unschedulable=true", "spec.unschedulable=false"],
        content: o::node,
        change: |rng| o::or_metadata(rng, "change of a Node"),
        status_change: |rng| o::edit(rng, "status of a Node"),
        ..SERVICE_ACCOUNTS
    },
    Resource {
        plural: "namespaces",
        kind: "Namespace",
        namespaced: false,
        status: true,
        weight: 4,
        fields: &["status.phase=Active"],
        content: o::namespace,
        change: o::change_metadata,
        status_change: |rng| o::edit(rng, "status of a Namespace"),
        ..SERVICE_ACCOUNTS
    },
];

impl Resource {
    /// The path of the collection.
    pub(crate) fn path(&self) -> String {
        if self.namespaced {
            format!("{}/namespaces/⟦ns⟧/{}", self.api, self.plural)
        } else {
            format!("{}/{}", self.api, self.plural)
        }
    }

    /// The path of an object.
    pub(crate) fn object_path(&self, name: &str) -> String {
        format!("{}/{name}", self.path())
    }

    /// Names an object for references.
    pub(crate) fn subject(&self, name: &str) -> String {
        // References do not nest.
        let name = name.replace(['⟦', '⟧'], "");
        format!("{}/{name}", self.plural)
    }

    /// A name of the sequence's pool.
    pub(crate) fn name(&self, number: usize) -> String {
        let letter = &self.plural[..1];
        if self.namespaced { format!("{letter}{number}") } else { format!("⟦ns⟧-{letter}{number}") }
    }
}

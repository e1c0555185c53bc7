//! The entries.

use super::endpoints::Endpoints;
use super::endpointslice::EndpointSlice;
use super::event::Event;
use super::lease::Lease;
use super::namespace::Namespace;
use super::node::Node;
use super::pod::Pod;
use super::service::Service;
use super::service_account::ServiceAccount;
use super::strategy::{Kind, SelectableField, Subresource};
use super::workload::{DEPLOYMENT, REPLICA_SET};

const ALL: &[&str] = &["create", "delete", "get", "list", "patch", "update", "watch"];
const STATUS_VERBS: &[&str] = &["get", "patch", "update"];

const fn status(kind: &'static str) -> Subresource {
    Subresource { name: "status", group_version: None, kind, verbs: STATUS_VERBS }
}

const SCALE: Subresource = Subresource {
    name: "scale",
    group_version: Some(("autoscaling", "v1")),
    kind: "Scale",
    verbs: STATUS_VERBS,
};

const fn created(
    name: &'static str,
    group_version: Option<(&'static str, &'static str)>,
    kind: &'static str,
) -> Subresource {
    Subresource { name, group_version, kind, verbs: &["create"] }
}

/// A field whose label is its path.
const fn own(label: &'static str, path: &'static [&'static str]) -> SelectableField {
    SelectableField { label, paths: path, absent: "" }
}

/// Most kinds: in a namespace, with all verbs. Entries name what differs.
const BASE: Kind = Kind {
    group: "",
    version: "v1",
    kind: "",
    plural: "",
    singular: "",
    short_names: &[],
    categories: &[],
    namespaced: true,
    type_name: "",
    verbs: ALL,
    subresources: &[],
    selectable_fields: &[],
    deprecation: None,
    strategy: &Endpoints,
};

/// All kinds, in the order in which discovery lists their groups and, within a group, their resources.
pub(crate) static KINDS: &[Kind] = &[
    Kind {
        kind: "Endpoints",
        plural: "endpoints",
        singular: "endpoints",
        short_names: &["ep"],
        type_name: "k8s.io/api/core/v1.Endpoints",
        deprecation: Some("v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice"),
        strategy: &Endpoints,
        ..BASE
    },
    Kind {
        kind: "Event",
        plural: "events",
        singular: "event",
        short_names: &["ev"],
        type_name: "k8s.io/api/core/v1.Event",
        selectable_fields: EVENT_FIELDS,
        strategy: &Event,
        ..BASE
    },
    Kind {
        kind: "Namespace",
        plural: "namespaces",
        singular: "namespace",
        short_names: &["ns"],
        namespaced: false,
        type_name: "k8s.io/api/core/v1.Namespace",
        subresources: &[status("Namespace")],
        selectable_fields: &[own("status.phase", &["status.phase"])],
        strategy: &Namespace,
        ..BASE
    },
    Kind {
        kind: "Node",
        plural: "nodes",
        singular: "node",
        short_names: &["no"],
        namespaced: false,
        type_name: "k8s.io/api/core/v1.Node",
        subresources: &[status("Node")],
        selectable_fields: &[SelectableField {
            label: "spec.unschedulable",
            paths: &["spec.unschedulable"],
            absent: "false",
        }],
        strategy: &Node,
        ..BASE
    },
    Kind {
        kind: "Pod",
        plural: "pods",
        singular: "pod",
        short_names: &["po"],
        categories: &["all"],
        type_name: "k8s.io/api/core/v1.Pod",
        subresources: &[created("binding", None, "Binding"), status("Pod")],
        selectable_fields: POD_FIELDS,
        strategy: &Pod,
        ..BASE
    },
    Kind {
        kind: "ServiceAccount",
        plural: "serviceaccounts",
        singular: "serviceaccount",
        short_names: &["sa"],
        type_name: "k8s.io/api/core/v1.ServiceAccount",
        subresources: &[created("token", Some(("authentication.k8s.io", "v1")), "TokenRequest")],
        strategy: &ServiceAccount,
        ..BASE
    },
    Kind {
        kind: "Service",
        plural: "services",
        singular: "service",
        short_names: &["svc"],
        categories: &["all"],
        type_name: "k8s.io/api/core/v1.Service",
        subresources: &[status("Service")],
        selectable_fields: &[own("spec.clusterIP", &["spec.clusterIP"]), own("spec.type", &["spec.type"])],
        strategy: &Service,
        ..BASE
    },
    Kind {
        group: "apps",
        kind: "Deployment",
        plural: "deployments",
        singular: "deployment",
        short_names: &["deploy"],
        categories: &["all"],
        type_name: "k8s.io/api/apps/v1.Deployment",
        subresources: &[SCALE, status("Deployment")],
        strategy: &DEPLOYMENT,
        ..BASE
    },
    Kind {
        group: "apps",
        kind: "ReplicaSet",
        plural: "replicasets",
        singular: "replicaset",
        short_names: &["rs"],
        categories: &["all"],
        type_name: "k8s.io/api/apps/v1.ReplicaSet",
        subresources: &[SCALE, status("ReplicaSet")],
        strategy: &REPLICA_SET,
        ..BASE
    },
    Kind {
        group: "coordination.k8s.io",
        kind: "Lease",
        plural: "leases",
        singular: "lease",
        type_name: "k8s.io/api/coordination/v1.Lease",
        strategy: &Lease,
        ..BASE
    },
    Kind {
        group: "discovery.k8s.io",
        kind: "EndpointSlice",
        plural: "endpointslices",
        singular: "endpointslice",
        type_name: "k8s.io/api/discovery/v1.EndpointSlice",
        strategy: &EndpointSlice,
        ..BASE
    },
];

const POD_FIELDS: &[SelectableField] = &[
    own("spec.nodeName", &["spec.nodeName"]),
    own("spec.restartPolicy", &["spec.restartPolicy"]),
    own("spec.schedulerName", &["spec.schedulerName"]),
    own("spec.serviceAccountName", &["spec.serviceAccountName"]),
    SelectableField { label: "spec.hostNetwork", paths: &["spec.hostNetwork"], absent: "false" },
    own("status.phase", &["status.phase"]),
    own("status.podIP", &["status.podIP"]),
    own("status.nominatedNodeName", &["status.nominatedNodeName"]),
];

const EVENT_FIELDS: &[SelectableField] = &[
    own("involvedObject.kind", &["involvedObject.kind"]),
    own("involvedObject.namespace", &["involvedObject.namespace"]),
    own("involvedObject.name", &["involvedObject.name"]),
    own("involvedObject.uid", &["involvedObject.uid"]),
    own("involvedObject.apiVersion", &["involvedObject.apiVersion"]),
    own("involvedObject.resourceVersion", &["involvedObject.resourceVersion"]),
    own("involvedObject.fieldPath", &["involvedObject.fieldPath"]),
    own("reason", &["reason"]),
    own("reportingComponent", &["reportingComponent"]),
    own("source", &["source.component", "reportingComponent"]),
    own("type", &["type"]),
];

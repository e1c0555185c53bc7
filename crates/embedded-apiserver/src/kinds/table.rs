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
use super::strategy::{Kind, SelectableField, Strategy, Subresource};
use super::workload::{DEPLOYMENT, REPLICA_SET};

const ALL: &[&str] = &["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"];
const STATUS_VERBS: &[&str] = &["get", "patch", "update"];

const fn part(name: &'static str, kind: &'static str, verbs: &'static [&'static str]) -> Subresource {
    Subresource { name, group_version: None, kind, verbs }
}

const fn status(kind: &'static str) -> Subresource {
    part("status", kind, STATUS_VERBS)
}

const SCALE: Subresource =
    Subresource { group_version: Some(("autoscaling", "v1")), ..part("scale", "Scale", STATUS_VERBS) };
const TOKEN: Subresource = Subresource {
    group_version: Some(("authentication.k8s.io", "v1")),
    ..part("token", "TokenRequest", &["create"])
};

/// A field whose label is its path.
const fn own(label: &'static str, path: &'static [&'static str]) -> SelectableField {
    SelectableField { label, paths: path, absent: "" }
}

/// Most kinds: in a namespace, with all verbs. Entries name what differs.
const fn kind(
    (group, kind): (&'static str, &'static str),
    [singular, plural]: [&'static str; 2],
    short_names: &'static [&'static str],
    type_name: &'static str,
    strategy: &'static dyn Strategy,
) -> Kind {
    Kind {
        group,
        version: "v1",
        kind,
        plural,
        singular,
        short_names,
        categories: &[],
        namespaced: true,
        type_name,
        storage: plural,
        verbs: ALL,
        subresources: &[],
        selectable_fields: &[],
        deprecation: None,
        strategy,
    }
}

/// All kinds, in the order in which discovery lists their groups and, within a group, their resources.
pub(crate) static KINDS: &[Kind] = &[
    Kind {
        deprecation: Some("v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice"),
        ..kind(("", "Endpoints"), ["endpoints"; 2], &["ep"], "k8s.io/api/core/v1.Endpoints", &Endpoints)
    },
    Kind {
        selectable_fields: CORE_EVENT_FIELDS,
        ..event("", "k8s.io/api/core/v1.Event", &Event { strict: false })
    },
    Kind {
        namespaced: false,
        verbs: &["create", "delete", "get", "list", "patch", "update", "watch"],
        subresources: &[part("finalize", "Namespace", &["update"]), status("Namespace")],
        selectable_fields: &[own("status.phase", &["status.phase"])],
        ..kind(
            ("", "Namespace"),
            ["namespace", "namespaces"],
            &["ns"],
            "k8s.io/api/core/v1.Namespace",
            &Namespace,
        )
    },
    Kind {
        namespaced: false,
        subresources: &[status("Node")],
        selectable_fields: &[SelectableField {
            absent: "false",
            ..own("spec.unschedulable", &["spec.unschedulable"])
        }],
        ..kind(("", "Node"), ["node", "nodes"], &["no"], "k8s.io/api/core/v1.Node", &Node)
    },
    Kind {
        categories: &["all"],
        subresources: &[part("binding", "Binding", &["create"]), status("Pod")],
        selectable_fields: POD_FIELDS,
        ..kind(("", "Pod"), ["pod", "pods"], &["po"], "k8s.io/api/core/v1.Pod", &Pod)
    },
    Kind {
        subresources: &[TOKEN],
        ..kind(
            ("", "ServiceAccount"),
            ["serviceaccount", "serviceaccounts"],
            &["sa"],
            "k8s.io/api/core/v1.ServiceAccount",
            &ServiceAccount,
        )
    },
    Kind {
        categories: &["all"],
        subresources: &[status("Service")],
        selectable_fields: &[own("spec.clusterIP", &["spec.clusterIP"]), own("spec.type", &["spec.type"])],
        ..kind(("", "Service"), ["service", "services"], &["svc"], "k8s.io/api/core/v1.Service", &Service)
    },
    Kind {
        selectable_fields: EVENT_FIELDS,
        ..event("events.k8s.io", "k8s.io/api/events/v1.Event", &Event { strict: true })
    },
    Kind {
        categories: &["all"],
        subresources: &[SCALE, status("Deployment")],
        ..kind(
            ("apps", "Deployment"),
            ["deployment", "deployments"],
            &["deploy"],
            "k8s.io/api/apps/v1.Deployment",
            &DEPLOYMENT,
        )
    },
    Kind {
        categories: &["all"],
        subresources: &[SCALE, status("ReplicaSet")],
        ..kind(
            ("apps", "ReplicaSet"),
            ["replicaset", "replicasets"],
            &["rs"],
            "k8s.io/api/apps/v1.ReplicaSet",
            &REPLICA_SET,
        )
    },
    kind(
        ("coordination.k8s.io", "Lease"),
        ["lease", "leases"],
        &[],
        "k8s.io/api/coordination/v1.Lease",
        &Lease,
    ),
    kind(
        ("discovery.k8s.io", "EndpointSlice"),
        ["endpointslice", "endpointslices"],
        &[],
        "k8s.io/api/discovery/v1.EndpointSlice",
        &EndpointSlice,
    ),
];

const fn event(group: &'static str, type_name: &'static str, strategy: &'static Event) -> Kind {
    kind((group, "Event"), ["event", "events"], &["ev"], type_name, strategy)
}

const POD_FIELDS: &[SelectableField] = &[
    own("spec.nodeName", &["spec.nodeName"]),
    own("spec.restartPolicy", &["spec.restartPolicy"]),
    own("spec.schedulerName", &["spec.schedulerName"]),
    own("spec.serviceAccountName", &["spec.serviceAccountName"]),
    SelectableField { label: "spec.hostNetwork", paths: &["spec.hostNetwork"], absent: "false" },
    own("status.phase", &["status.phase"]),
    own("status.podIP", &["status.podIP"]),
    // Accepted, but no object has it.
    own("status.podIPs", &[]),
    own("status.nominatedNodeName", &["status.nominatedNodeName"]),
];

const CORE_EVENT_FIELDS: &[SelectableField] = &[
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

const EVENT_FIELDS: &[SelectableField] = &[
    own("regarding.kind", &["involvedObject.kind"]),
    own("regarding.namespace", &["involvedObject.namespace"]),
    own("regarding.name", &["involvedObject.name"]),
    own("regarding.uid", &["involvedObject.uid"]),
    own("regarding.apiVersion", &["involvedObject.apiVersion"]),
    own("regarding.resourceVersion", &["involvedObject.resourceVersion"]),
    own("regarding.fieldPath", &["involvedObject.fieldPath"]),
    own("reason", &["reason"]),
    own("reportingController", &["reportingComponent"]),
    own("type", &["type"]),
];

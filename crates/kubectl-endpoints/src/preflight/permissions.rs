//! The permissions that the program needs, in one table. A test compares it with `deploy/base`.

use endpoint_controller_manager::config::Config;
use endpoint_controller_manager::controllers::Controller;

use super::check::{ACCOUNT_RBAC, ENDPOINTS_RBAC, Id, LEASE_RBAC, MIRRORING_RBAC, SERVING_RBAC, SLICE_RBAC};
use crate::lease::{SYSTEM, lease_name};

const ADMISSION: &str = "needed with the admission plugin OwnerReferencesPermissionEnforcement only";
const SERVING: &str = "needed to authenticate and authorize clients of /metrics";

/// One rule of a role.
struct Rule {
    group: &'static str,
    /// With their subresources: `endpoints/restricted`.
    resources: &'static [&'static str],
    verbs: &'static [&'static str],
    place: Place,
    /// The circumstances without which the rule is not needed.
    only: Option<&'static str>,
}

/// The objects of a rule.
#[derive(Clone, Copy)]
enum Place {
    All,
    /// The namespace of the Lease.
    LeaseNamespace,
    /// The Lease.
    Lease,
    /// An object of kube-system.
    System(&'static str),
}

const fn rule(
    group: &'static str,
    resources: &'static [&'static str],
    verbs: &'static [&'static str],
) -> Rule {
    Rule { group, resources, verbs, place: Place::All, only: None }
}

impl Rule {
    const fn at(self, place: Place) -> Self {
        Self { place, ..self }
    }

    const fn only(self, reason: &'static str) -> Self {
        Self { only: Some(reason), ..self }
    }
}

const READ: &[&str] = &["list", "watch"];
const WRITE: &[&str] = &["list", "watch", "create", "update", "delete"];
const EVENTS: Rule = rule("", &["events"], &["create", "patch"]);
const SLICES: Rule = rule("discovery.k8s.io", &["endpointslices"], WRITE);
const RESTRICTED: Rule = rule("discovery.k8s.io", &["endpointslices/restricted"], &["create"]);

const OF_ENDPOINTS: &[Rule] = &[
    rule("", &["services", "pods"], READ),
    rule("", &["endpoints"], WRITE),
    rule("", &["endpoints/restricted"], &["create"]),
    EVENTS,
];
/// With the feature gate `EndpointsKeepReadyOnDisruption`, nodes decide about the readiness of pods in Endpoints too.
const OF_DISRUPTION: &[Rule] = &[rule("", &["nodes"], READ)];
const OF_SLICES: &[Rule] = &[
    rule("", &["services", "pods", "nodes"], READ),
    rule("", &["services/finalizers"], &["update"]).only(ADMISSION),
    SLICES,
    RESTRICTED,
    EVENTS,
];
const OF_MIRRORING: &[Rule] = &[
    rule("", &["services", "endpoints"], READ),
    rule("", &["endpoints/finalizers"], &["update"]).only(ADMISSION),
    SLICES,
    RESTRICTED,
    EVENTS,
];
const OF_ELECTION: &[Rule] = &[
    rule("coordination.k8s.io", &["leases"], &["get", "update"]).at(Place::Lease),
    rule("coordination.k8s.io", &["leases"], &["create"]).at(Place::LeaseNamespace),
    EVENTS.at(Place::LeaseNamespace),
];
/// The permissions that the program uses of `system:auth-delegator` and `extension-apiserver-authentication-reader`.
const OF_SERVING: &[Rule] = &[
    rule("authentication.k8s.io", &["tokenreviews"], &["create"]).only(SERVING),
    rule("authorization.k8s.io", &["subjectaccessreviews"], &["create"]).only(SERVING),
    rule("", &["configmaps"], &["get"]).at(Place::System("extension-apiserver-authentication")).only(SERVING),
];

/// One permission.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Need {
    /// The check that it belongs to.
    pub(super) check: Id,
    pub(super) group: &'static str,
    pub(super) resource: &'static str,
    /// Empty if there is none.
    pub(super) subresource: &'static str,
    pub(super) verb: &'static str,
    /// Empty for all.
    pub(super) namespace: String,
    /// Empty for all.
    pub(super) name: String,
    /// The service account in kube-system that needs it instead of the program.
    pub(super) account: Option<&'static str>,
    /// The circumstances without which it is not needed.
    pub(super) only: Option<&'static str>,
}

impl Need {
    /// The permission for a reader: `create endpoints/restricted`.
    pub(super) fn text(&self) -> String {
        let Self { verb, resource, subresource, namespace, name, .. } = self;
        let slash = if subresource.is_empty() { "" } else { "/" };
        let place = match (namespace.as_str(), name.as_str()) {
            ("", _) => String::new(),
            (namespace, "") => format!(" in {namespace}"),
            (namespace, name) => format!(" {namespace}/{name}"),
        };
        let account = self.account.map(|account| format!(" (by {account})")).unwrap_or_default();
        format!("{verb} {resource}{slash}{subresource}{place}{account}")
    }
}

/// The properties of the cluster that decide about permissions, besides the configuration.
#[derive(Clone, Copy, Debug)]
pub(super) struct Present {
    /// The cluster is one of `OpenShift`, which asks for permissions to `endpoints/restricted` and `endpointslices/restricted`.
    pub(super) openshift: bool,
    /// The Lease exists, as `deploy/` creates it, so that the program need not.
    pub(super) lease: bool,
}

impl Present {
    fn requires(self, need: &Need) -> bool {
        match (need.verb, need.resource, need.subresource) {
            ("create", "leases", _) => !self.lease,
            (_, _, "restricted") => self.openshift,
            _ => true,
        }
    }
}

/// The permissions that the program needs with a configuration.
pub(super) fn needs(config: &Config, present: Present) -> Vec<Need> {
    let lease = lease_name(config);
    let mut needs = Vec::new();
    for controller in &config.controllers {
        let (check, rules) = match controller {
            Controller::Endpoints => (ENDPOINTS_RBAC, OF_ENDPOINTS),
            Controller::EndpointSlice => (SLICE_RBAC, OF_SLICES),
            Controller::EndpointSliceMirroring => (MIRRORING_RBAC, OF_MIRRORING),
        };
        // With credentials of their own, controllers write with these; the informers are the program's.
        let account = config.use_service_account_credentials.then(|| controller.client());
        needs.extend(rules.iter().flat_map(|rule| of_rule(check, rule, lease)).map(|need| {
            let account = account.filter(|_| !READ.contains(&need.verb));
            Need { account, ..need }
        }));
        needs.extend(account.map(token));
        if config.disruption.is_some() && *controller == Controller::Endpoints {
            needs.extend(OF_DISRUPTION.iter().flat_map(|rule| of_rule(check, rule, lease)));
        }
    }
    if config.leader_election.is_some() {
        needs.extend(OF_ELECTION.iter().flat_map(|rule| of_rule(LEASE_RBAC, rule, lease)));
    }
    needs.extend(OF_SERVING.iter().flat_map(|rule| of_rule(SERVING_RBAC, rule, lease)));
    needs.retain(|need| present.requires(need));
    needs
}

/// The permission for a token of a controller's service account.
fn token(account: &'static str) -> Need {
    Need {
        check: ACCOUNT_RBAC,
        group: "",
        resource: "serviceaccounts",
        subresource: "token",
        verb: "create",
        namespace: SYSTEM.to_owned(),
        name: account.to_owned(),
        account: None,
        only: None,
    }
}

fn of_rule(check: Id, rule: &Rule, lease: (&str, &str)) -> Vec<Need> {
    let (namespace, name) = match rule.place {
        Place::All => ("", ""),
        Place::LeaseNamespace => (lease.0, ""),
        Place::Lease => lease,
        Place::System(name) => (SYSTEM, name),
    };
    let mut needs = Vec::new();
    for resource in rule.resources {
        let (resource, subresource) = resource.split_once('/').unwrap_or((resource, ""));
        needs.extend(rule.verbs.iter().map(|verb| Need {
            check,
            group: rule.group,
            resource,
            subresource,
            verb,
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            account: None,
            only: rule.only,
        }));
    }
    needs
}

#[cfg(test)]
mod tests;

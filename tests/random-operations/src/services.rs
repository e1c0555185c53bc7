//! The Services of a trace: the generator's record of one, and the operations that are possible on it.

use serde_json::{Value, json};

use crate::operation::Operation;
use crate::rng::Rng;
use crate::{MANAGED_BY, SERVICE_NAME};

/// All names of Services. Few, so that names are reused.
pub const NAMES: [&str; 9] = ["front", "back", "cart", "mail", "stock", "login", "search", "queue", "audit"];

const FAMILIES: [&str; 2] = ["IPv4", "IPv6"];
const HEADLESS: &str = "None";
const HEADLESS_LABEL: &str = "service.kubernetes.io/headless";
const RESERVED_LABELS: [&str; 3] = [HEADLESS_LABEL, SERVICE_NAME, MANAGED_BY];

/// The properties of a Service that decide which operations are possible next.
#[derive(Debug, Clone)]
pub(crate) struct Service {
    name: String,
    kind: Kind,
    /// The first family never changes, except by way of `ExternalName`.
    families: Vec<&'static str>,
    ports: Value,
    selector: Option<Value>,
    publish_not_ready: bool,
    traffic_distribution: Option<&'static str>,
    topology: Option<&'static str>,
    /// True once the user has set a label that controllers reserve.
    reserved_label: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    ClusterIp,
    Headless,
    NodePort,
    LoadBalancer,
    ExternalName,
}

impl Kind {
    const ALL: [Self; 7] = [
        Self::ClusterIp,
        Self::ClusterIp,
        Self::Headless,
        Self::Headless,
        Self::NodePort,
        Self::LoadBalancer,
        Self::ExternalName,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::ClusterIp | Self::Headless => "ClusterIP",
            Self::NodePort => "NodePort",
            Self::LoadBalancer => "LoadBalancer",
            Self::ExternalName => "ExternalName",
        }
    }
}

impl Service {
    /// A new Service, and the operation that creates it.
    pub(crate) fn create(
        rng: &mut Rng,
        name: &str,
        topology: bool,
        custom_endpoints: bool,
    ) -> (Self, Operation) {
        let kind = *rng.pick(&Kind::ALL);
        let mut service = Self {
            name: name.to_owned(),
            kind,
            families: families(rng),
            ports: ports(rng, kind == Kind::Headless),
            selector: if rng.percent(if custom_endpoints { 50 } else { 90 }) {
                Some(selector(rng))
            } else {
                None
            },
            publish_not_ready: rng.percent(20),
            traffic_distribution: if rng.percent(25) { Some(traffic_distribution(rng)) } else { None },
            topology: None,
            reserved_label: false,
        };
        if topology && rng.percent(20) {
            service.topology = Some(TOPOLOGY_KEYS[0]);
        }
        let mut spec = service.kind_fields(false);
        spec["selector"] = json!(service.selector);
        spec["publishNotReadyAddresses"] = json!(service.publish_not_ready);
        spec["trafficDistribution"] = json!(service.traffic_distribution);
        let labels =
            rng.some(&labels(), 3).into_iter().fold(json!({}), |all, (key, value)| with(all, key, value));
        service.reserved_label = RESERVED_LABELS.iter().any(|key| labels.get(key).is_some());
        let annotations = service.topology.map_or(json!({}), |key| json!({key: "Auto"}));
        let metadata = json!({"name": name, "labels": labels, "annotations": annotations});
        let object = json!({"metadata": metadata, "spec": spec});
        (service, Operation::CreateService { name: name.to_owned(), object })
    }

    /// True if its slices are kept up to date.
    pub(crate) fn is_synced(&self) -> bool {
        self.kind != Kind::ExternalName && self.selector.is_some()
    }

    pub(crate) fn is_external_name(&self) -> bool {
        self.kind == Kind::ExternalName
    }

    pub(crate) fn has_reserved_label(&self) -> bool {
        self.reserved_label
    }

    pub(crate) fn has_topology_mode(&self) -> bool {
        self.topology.is_some()
    }

    pub(crate) fn change_ports(&mut self, rng: &mut Rng) -> Operation {
        self.ports = ports(rng, self.kind == Kind::Headless);
        self.change("Service ports", json!({"spec": {"ports": self.ports}}))
    }

    /// Changes, removes or restores the selector.
    pub(crate) fn change_selector(&mut self, rng: &mut Rng) -> Operation {
        let Some(before) = self.selector.take() else {
            self.selector = Some(selector(rng));
            return self.change("Service selector", json!({"spec": {"selector": self.selector}}));
        };
        if rng.percent(25) {
            return self.change("Service selector", json!({"spec": {"selector": null}}));
        }
        // A merge patch keeps the fields that it does not name.
        let after = selector(rng);
        let mut patch = after.clone();
        for key in before.as_object().unwrap().keys() {
            if after.get(key).is_none() {
                patch[key] = Value::Null;
            }
        }
        self.selector = Some(after);
        self.change("Service selector", json!({"spec": {"selector": patch}}))
    }

    pub(crate) fn change_labels(&mut self, rng: &mut Rng) -> Operation {
        let (key, value) = *rng.pick(&labels());
        self.reserved_label |= RESERVED_LABELS.contains(&key);
        let value = if rng.percent(30) { Value::Null } else { json!(value) };
        self.change("Service labels", json!({"metadata": {"labels": {key: value}}}))
    }

    /// Changes that do not affect slices.
    pub(crate) fn change_nothing(&self, rng: &mut Rng) -> Operation {
        let note = json!({"metadata": {"annotations": {"note": rng.below(1000).to_string()}}});
        let affinity = json!({"spec": {"sessionAffinity": rng.pick(&["ClientIP", "None"])}});
        let patch = if self.kind != Kind::ExternalName && rng.percent(50) { affinity } else { note };
        self.change("Service otherwise", patch)
    }

    pub(crate) fn change_publishing(&mut self) -> Operation {
        self.publish_not_ready = !self.publish_not_ready;
        let patch = json!({"spec": {"publishNotReadyAddresses": self.publish_not_ready}});
        self.change("publishNotReadyAddresses", patch)
    }

    pub(crate) fn change_traffic_distribution(&mut self, rng: &mut Rng) -> Operation {
        self.traffic_distribution = if rng.percent(25) { None } else { Some(traffic_distribution(rng)) };
        let patch = json!({"spec": {"trafficDistribution": self.traffic_distribution}});
        self.change("trafficDistribution", patch)
    }

    pub(crate) fn change_topology_mode(&mut self, rng: &mut Rng) -> Operation {
        let before = self.topology.take();
        let annotations = if let Some(key) = before {
            json!({key: null})
        } else {
            let key = *rng.pick(&TOPOLOGY_KEYS);
            self.topology = Some(key);
            json!({key: rng.pick(&["Auto", "auto"])})
        };
        self.change("topology mode", json!({"metadata": {"annotations": annotations}}))
    }

    /// Another type, as far as the API server lets it: a Service with a cluster IP becomes headless, and the other
    /// way round, only by way of `ExternalName`.
    pub(crate) fn change_kind(&mut self, rng: &mut Rng) -> Operation {
        let before = self.kind;
        let choices: &[Kind] = match before {
            Kind::ExternalName => &Kind::ALL[..6],
            Kind::Headless => &[Kind::ExternalName],
            _ => &[Kind::ClusterIp, Kind::NodePort, Kind::LoadBalancer, Kind::ExternalName],
        };
        self.kind = *rng.pick(choices);
        if before == Kind::ExternalName {
            self.families = families(rng);
        }
        let loses_ip = self.kind == Kind::ExternalName;
        let gains_ip = before == Kind::ExternalName;
        // Without ports only a headless Service is valid.
        if self.ports.is_null() && self.kind != Kind::Headless || gains_ip {
            self.ports = ports(rng, self.kind == Kind::Headless);
        }
        let mut spec = json!({"type": self.kind.name(), "ports": self.ports});
        if loses_ip || gains_ip {
            spec = self.kind_fields(true);
        }
        self.change("Service type", json!({"spec": spec}))
    }

    /// Adds or removes the second family.
    pub(crate) fn change_families(&mut self, rng: &mut Rng) -> Option<Operation> {
        if self.kind == Kind::ExternalName {
            return None;
        }
        let first = self.families[0];
        if self.families.len() > 1 {
            self.families.truncate(1);
        } else {
            self.families.extend(FAMILIES.iter().find(|family| **family != first));
        }
        let policy = self.policy(rng.percent(50));
        let patch = json!({"spec": {"ipFamilyPolicy": policy, "ipFamilies": self.families}});
        Some(self.change("Service families", patch))
    }

    fn policy(&self, require: bool) -> &'static str {
        match (self.families.len(), require) {
            (1, _) => "SingleStack",
            (_, true) => "RequireDualStack",
            (_, false) => "PreferDualStack",
        }
    }

    /// All fields that depend on the type; a patch has nulls for those that go.
    fn kind_fields(&self, patch: bool) -> Value {
        let mut spec = json!({"type": self.kind.name(), "ports": self.ports});
        if self.kind == Kind::ExternalName {
            spec["externalName"] = json!("example.com");
            if patch {
                for key in ["clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy", "sessionAffinity"] {
                    spec[key] = Value::Null;
                }
            }
            return spec;
        }
        spec["ipFamilies"] = json!(self.families);
        spec["ipFamilyPolicy"] = json!(self.policy(true));
        if self.kind == Kind::Headless {
            spec["clusterIP"] = json!(HEADLESS);
        }
        if patch {
            spec["externalName"] = Value::Null;
        }
        spec
    }

    fn change(&self, what: &'static str, patch: Value) -> Operation {
        Operation::ChangeService { name: self.name.clone(), what, patch }
    }
}

const TOPOLOGY_KEYS: [&str; 2] =
    ["service.kubernetes.io/topology-mode", "service.kubernetes.io/topology-aware-hints"];

fn families(rng: &mut Rng) -> Vec<&'static str> {
    let mut families = FAMILIES.to_vec();
    if rng.percent(40) {
        families.reverse();
    }
    if rng.percent(60) {
        families.truncate(1);
    }
    families
}

fn traffic_distribution(rng: &mut Rng) -> &'static str {
    const CHOICES: [&str; 3] = ["PreferClose", "PreferSameZone", "PreferSameNode"];
    CHOICES[rng.below(3)]
}

fn selector(rng: &mut Rng) -> Value {
    let choices = [
        json!({"in": "all"}),
        json!({"in": "all"}),
        json!({"app": "a"}),
        json!({"app": "a"}),
        json!({"app": "b"}),
        json!({"tier": "x"}),
        json!({"app": "a", "tier": "y"}),
        json!({"app": "no-pod"}),
    ];
    rng.pick(&choices).clone()
}

/// Labels of Services: ordinary ones, an empty one, and those that the controller reserves.
fn labels() -> [(&'static str, &'static str); 9] {
    [
        ("team", "red"),
        ("team", "blue"),
        ("example.com/team", "green"),
        ("empty", ""),
        ("empty", "not"),
        (SERVICE_NAME, "someone"),
        (MANAGED_BY, "someone"),
        (HEADLESS_LABEL, "yes"),
        (HEADLESS_LABEL, ""),
    ]
}

fn ports(rng: &mut Rng, may_be_none: bool) -> Value {
    if may_be_none && rng.percent(35) {
        return Value::Null;
    }
    if rng.percent(15) {
        let target = rng.pick(&[json!("http"), json!("proxy"), json!(8080)]).clone();
        return json!([{"port": 80, "targetPort": target}]);
    }
    let choices = [
        json!({"name": "http", "port": 80, "targetPort": "http"}),
        json!({"name": "web", "port": 81, "targetPort": 8080}),
        json!({"name": "dns", "port": 53, "protocol": "UDP"}),
        json!({"name": "dns-tcp", "port": 53}),
        json!({"name": "metrics", "port": 9153, "targetPort": "metrics"}),
        json!({"name": "mesh", "port": 15001, "targetPort": "proxy"}),
        json!({"name": "sctp", "port": 7, "protocol": "SCTP"}),
        json!({"name": "absent", "port": 444, "targetPort": "nowhere"}),
    ];
    let mut ports = rng.some(&choices, 4);
    if rng.percent(30) {
        ports.reverse();
    }
    for port in &mut ports {
        if rng.percent(30) {
            let protocols = ["http", "kubernetes.io/h2c", "example.com/own"];
            port["appProtocol"] = json!(rng.pick(&protocols));
        }
    }
    Value::Array(ports)
}

pub(crate) fn with(mut object: Value, key: &str, value: impl Into<Value>) -> Value {
    object[key] = value.into();
    object
}

//! Feature gates: their names, stages and values.
//!
//! Rules and messages are upstream's (`k8s.io/component-base` `featuregate/feature_gate.go` and
//! `compatibility/registry.go`). Five gates are this program's own. The others are kube-controller-manager's: they are
//! known, checked and reported, but most have no effect here.

mod flag;
mod stage;
mod version;

use std::collections::BTreeMap;
use std::sync::LazyLock;

use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

pub(crate) use flag::shown;
pub(crate) use stage::Stage;
use stage::{Gate, Spec};
pub use version::{Minor, Versions};

/// Pods that only the node lifecycle controller calls not ready count as ready while nearly all kubelets are lost.
pub(crate) const ENDPOINTS_KEEP_READY_ON_DISRUPTION: &str = "EndpointsKeepReadyOnDisruption";
/// Services labelled `service.kubernetes.io/endpoint-controller-name` belong to another controller (KEP-4770).
pub const ENDPOINT_CONTROLLER_NAME_WELL_KNOWN_LABEL: &str = "EndpointControllerNameWellKnownLabel";
/// Writes of slices that decide about no traffic wait up to 5 s for others of the same slice.
pub(crate) const ENDPOINT_SLICE_COALESCING: &str = "EndpointSliceCoalescing";
/// Terminating pods stay in slices, with the conditions `serving` and `terminating`.
pub(crate) const ENDPOINT_SLICE_TERMINATING_CONDITION: &str = "EndpointSliceTerminatingCondition";
/// The annotation `service.alpha.kubernetes.io/tolerate-unready-endpoints` is honoured.
pub(crate) const TOLERATE_UNREADY_ENDPOINTS_ANNOTATION: &str = "TolerateUnreadyEndpointsAnnotation";
/// Upstream's: there is a page `/flagz`.
pub(crate) const COMPONENT_FLAGZ: &str = "ComponentFlagz";
/// Upstream's: there is a page `/statusz`.
pub(crate) const COMPONENT_STATUSZ: &str = "ComponentStatusz";
/// Upstream's: `--logging-format=json` may be chosen.
pub(crate) const LOGGING_BETA_OPTIONS: &str = "LoggingBetaOptions";
/// Upstream's: front proxies may pass a uid.
pub(crate) const REMOTE_REQUEST_HEADER_UID: &str = "RemoteRequestHeaderUID";
/// Upstream's: `trafficDistribution` may be `PreferSameZone` or `PreferSameNode`. Here it always may.
pub(crate) const PREFER_SAME_TRAFFIC_DISTRIBUTION: &str = "PreferSameTrafficDistribution";

const ALL_ALPHA: &str = "AllAlpha";
const ALL_BETA: &str = "AllBeta";

/// Gates with an effect here that upstream does not have, or no longer has.
static OWN: [Gate; 5] = [
    Gate::new(ENDPOINT_CONTROLLER_NAME_WELL_KNOWN_LABEL, Spec::ALPHA_OFF),
    Gate::new(ENDPOINT_SLICE_COALESCING, Spec::ALPHA_OFF),
    Gate::new(ENDPOINT_SLICE_TERMINATING_CONDITION, Spec::GA_ON),
    Gate::new(ENDPOINTS_KEEP_READY_ON_DISRUPTION, Spec::ALPHA_OFF),
    Gate::new(TOLERATE_UNREADY_ENDPOINTS_ANNOTATION, Spec::ALPHA_OFF),
];

/// The gates of kube-controller-manager, sorted by name. `hack/testenv/tables` reads them from its registry
/// (`ComponentGlobalsRegistry`, which holds the gates of client-go and component-base too). Few of them change what this program
/// does; the others are here so that a copied command line is accepted or refused alike.
static UPSTREAM: LazyLock<Vec<Gate>> =
    LazyLock::new(|| include_str!("gates/upstream.txt").lines().filter_map(Gate::parse).collect());

/// The gates that set all gates of one stage. They belong to no release.
const GROUPS: [(&str, Stage); 2] = [(ALL_ALPHA, Stage::Alpha), (ALL_BETA, Stage::Beta)];

/// A gate as `kubernetes_feature_enabled` and `--help` show it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Feature {
    pub(crate) name: &'static str,
    pub(crate) stage: Stage,
    pub(crate) enabled: bool,
}

/// The gates of this process, all decided.
#[derive(Clone, Debug)]
pub struct FeatureGates {
    versions: Versions,
    /// Gates set by name, and those set by `AllAlpha` and `AllBeta`.
    set: BTreeMap<&'static str, bool>,
    /// Names in the flag, in order.
    given: Vec<&'static str>,
}

impl FeatureGates {
    /// Sets the gates to the values of `--feature-gates`. Errors are upstream's; several are joined.
    pub(crate) fn new(values: &[String], versions: Versions) -> Result<Self, String> {
        let assignments = flag::parse(values)?;
        let mut gates = Self { versions, set: BTreeMap::new(), given: Vec::new() };
        let mut errors = Vec::new();
        for (name, on) in assignments {
            let group = GROUPS.iter().find(|(group, _)| *group == name);
            let name = match (group, find(&name)) {
                (Some((group, _)), _) => *group,
                (None, Some(gate)) => {
                    errors.extend(gates.refusal(gate, on));
                    gate.name
                }
                (None, None) => return Err(format!("unrecognized feature gate: {name}")),
            };
            gates.set.insert(name, on);
            gates.given.push(name);
        }
        gates.set_groups();
        if errors.is_empty() {
            errors = gates.unmet_dependencies();
        }
        if errors.is_empty() && !gates.enabled(PREFER_SAME_TRAFFIC_DISTRIBUTION) {
            errors.push(format!(
                "{PREFER_SAME_TRAFFIC_DISTRIBUTION} must be enabled, but is disabled at emulated version {}",
                versions.emulated()
            ));
        }
        match errors.as_slice() {
            [] => Ok(gates),
            [error] => Err(error.clone()),
            errors => Err(format!("[{}]", errors.join(", "))),
        }
    }

    /// Returns whether a gate is on. One that does not exist is off.
    pub fn enabled(&self, name: &str) -> bool {
        self.set.get(name).copied().unwrap_or_else(|| self.spec(name).is_some_and(|spec| spec.default))
    }

    /// The release that is emulated.
    pub fn versions(&self) -> Versions {
        self.versions
    }

    /// All gates of the emulated version, by name.
    pub(crate) fn features(&self) -> Vec<Feature> {
        let mut features: Vec<Feature> = specs(self.versions)
            .filter(|(_, spec)| spec.stage != Stage::None)
            .map(|(name, spec)| Feature { name, stage: spec.stage, enabled: self.enabled(name) })
            .collect();
        features.sort_unstable_by_key(|feature| feature.name);
        features
    }

    /// Registers a series for each gate, 1 if it is on (`component-base` `metrics/prometheus/feature`).
    pub(crate) fn register(&self, registry: &mut Registry) {
        let family = Family::<[(&str, &str); 2], Gauge>::default();
        for feature in self.features() {
            let labels = [("name", feature.name), ("stage", feature.stage.label())];
            family.get_or_create(&labels).set(i64::from(feature.enabled));
        }
        let help = "[BETA] This metric records the data about the stage and enablement of a k8s feature";
        registry.register("kubernetes_feature_enabled", help, family);
    }

    /// Gates in the flag that have no effect here.
    pub(crate) fn without_effect(&self) -> impl Iterator<Item = &'static str> {
        let effective = [
            COMPONENT_FLAGZ,
            COMPONENT_STATUSZ,
            LOGGING_BETA_OPTIONS,
            REMOTE_REQUEST_HEADER_UID,
            ALL_ALPHA,
            ALL_BETA,
        ];
        let has_effect =
            move |name: &str| effective.contains(&name) || OWN.iter().any(|gate| gate.name == name);
        self.given.iter().copied().filter(move |name| !has_effect(name))
    }

    /// Gates in the flag that upstream warns about: generally available or deprecated, and so to be removed.
    pub(crate) fn going_away(&self) -> impl Iterator<Item = &'static str> {
        let leaving = |name: &&str| {
            self.spec(name).is_some_and(|spec| matches!(spec.stage, Stage::Ga | Stage::Deprecated))
        };
        self.given.iter().copied().filter(leaving)
    }

    fn spec(&self, name: &str) -> Option<Spec> {
        find(name).map(|gate| gate.at(self.versions))
    }

    /// The reason for which a gate cannot be set to this value.
    fn refusal(&self, gate: &Gate, on: bool) -> Option<String> {
        let (name, Spec { stage, default, locked, .. }) = (gate.name, gate.at(self.versions));
        if locked && default != on {
            return Some(format!("cannot set feature gate {name} to {on}, feature is locked to {default}"));
        }
        let (emulated, least) = (self.versions.emulated(), self.versions.min_compatibility());
        (stage == Stage::None).then(|| {
            format!(
                "cannot set feature gate {name} to {on}, feature is PreAlpha at emulated version {emulated}, min \
                 compatibility version {least}"
            )
        })
    }

    /// Sets the gates of a stage that the flag does not name, wherever in it `AllAlpha` or `AllBeta` stands.
    fn set_groups(&mut self) {
        for (group, stage) in GROUPS {
            let Some(&on) = self.set.get(group) else { continue };
            for gate in all().filter(|gate| gate.at(self.versions).stage == stage) {
                self.set.entry(gate.name).or_insert(on);
            }
        }
    }

    fn unmet_dependencies(&self) -> Vec<String> {
        let unmet = |gate: &Gate| {
            let missing: Vec<&str> =
                gate.depends_on.iter().copied().filter(|name| !self.enabled(name)).collect();
            let name = gate.name;
            let missing = (!missing.is_empty()).then(|| missing.join(" "))?;
            Some(format!("{name} is enabled, but depends on features that are disabled: [{missing}]"))
        };
        all().filter(|gate| self.enabled(gate.name)).filter_map(unmet).collect()
    }
}

impl Gate {
    /// The stage and default of the gate at these versions.
    fn at(&self, versions: Versions) -> Spec {
        let spec = self.specs.get(versions.column()).copied().unwrap_or(Spec::NONE);
        let is_compatible = versions.min_compatibility() >= versions.emulated();
        Spec { default: spec.default || (spec.on_if_compatible && is_compatible), ..spec }
    }
}

fn all() -> impl Iterator<Item = &'static Gate> {
    OWN.iter().chain(UPSTREAM.iter())
}

/// The gates, and those that set a stage, at these versions.
fn specs(versions: Versions) -> impl Iterator<Item = (&'static str, Spec)> {
    let groups = GROUPS.into_iter().map(|(name, stage)| (name, Spec::off(stage)));
    all().map(move |gate| (gate.name, gate.at(versions))).chain(groups)
}

fn find(name: &str) -> Option<&'static Gate> {
    all().find(|gate| gate.name == name)
}

/// The lines of `--help` about gates that are worth setting: alpha and beta ones, and those of this program.
pub(crate) fn help() -> String {
    let own = |name: &str| OWN.iter().any(|gate| gate.name == name);
    let mut lines: Vec<String> = specs(Versions::default())
        .filter(|(name, spec)| matches!(spec.stage, Stage::Alpha | Stage::Beta) || own(name))
        .map(|(name, spec)| {
            let stage = if spec.stage == Stage::Ga { "GA" } else { spec.stage.label() };
            let line = |default| format!("{name}=true|false ({stage} - default={default})");
            if spec.on_if_compatible {
                let release = Versions::default().emulated();
                let compatible = format!("{} if --min-compatibility-version>={release}", line(true));
                format!("kube:{}, or {compatible}", line(spec.default))
            } else {
                format!("kube:{}", line(spec.default))
            }
        })
        .collect();
    lines.sort_unstable();
    lines.join("\n")
}

#[cfg(test)]
mod tests;

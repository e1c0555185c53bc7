//! Metrics as they are exposed.
//!
//! | Upstream's test (`k8s.io/endpointslice`) | Here |
//! |---|---|
//! | `metrics` `TestNumEndpointsAndSlices`, `TestPlaceHolderSlice` | [`gauges_are_sums_over_services_ports_and_families`] |
//! | `metrics` `TestCache_ServicesByTrafficDistribution` | [`services_are_counted_by_the_traffic_distribution_that_has_an_effect`] |
//! | `TestReconcileEndpointSlicesMetrics` and those alongside it | [`each_family_of_a_sync_is_observed`] |

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use endpoint_informers::slices::SyncError;
use endpointslice::model::ServiceFields;
use endpointslice::plan::{AddressTypePlan, PlanStatistics, PortGroupStatistics};
use endpointslice::{AddressType, Interner, PortSet};
use k8s_openapi::api::discovery::v1::{EndpointPort, EndpointSlice};

use super::*;

/// Endpoints and slices of one port set.
type Group = (usize, usize);

struct Exposed {
    metrics: Metrics,
    registry: Registry,
}

impl Exposed {
    fn new() -> Self {
        let mut registry = Registry::default();
        Self { metrics: Metrics::register(&mut registry, 100), registry }
    }

    /// The samples of one metric: what follows its name, and the value.
    fn samples(&self, name: &str) -> BTreeMap<String, String> {
        let mut text = String::new();
        prometheus_client::encoding::text::encode(&mut text, &self.registry).unwrap();
        let prefix = format!("endpoint_slice_controller_{name}");
        let samples = text.lines().filter_map(|line| line.strip_prefix(&prefix)?.rsplit_once(' '));
        samples.map(|(labels, value)| (labels.to_owned(), value.to_owned())).collect()
    }

    fn sample(&self, name: &str, labels: &str) -> String {
        self.samples(name).remove(labels).unwrap_or_default()
    }

    /// Slices needed, slices, endpoints.
    fn sums(&self) -> [String; 3] {
        ["desired_endpoint_slices", "num_endpoint_slices", "endpoints_desired"]
            .map(|name| self.sample(name, ""))
    }

    fn plan(&self, name: &str, families: &[&[Group]]) {
        self.metrics.planned(&ObjectKey::new("shop", name), &service(&[]), &plan(families), false);
    }

    /// Syncs a Service of this annotation and traffic distribution.
    fn sync_with(&self, name: &str, topology_mode: &'static str, traffic_distribution: Option<&'static str>) {
        let annotations = vec![(endpointslice::well_known::TOPOLOGY_MODE, topology_mode)];
        let fields = ServiceFields { annotations, traffic_distribution, ..ServiceFields::default() };
        let service = Service::new(fields, &mut Interner::default());
        self.metrics.planned(&ObjectKey::new("shop", name), &service, &plan(&[&[(1, 1)]]), false);
        let plan = plan(&[&[(1, 1)]]);
        self.metrics.applied(&service, &plan, &complete(&plan));
    }
}

/// The outcome of a plan that was carried out in full.
fn complete(plan: &SlicePlan) -> Applied {
    let mut applied = Applied::default();
    applied.complete = plan.types.iter().map(|plan| plan.address_type).collect();
    applied
}

fn service(ip_families: &[&'static str]) -> Service {
    let fields = ServiceFields { ip_families: ip_families.to_vec(), ..ServiceFields::default() };
    Service::new(fields, &mut Interner::default())
}

/// A plan whose families each have these port sets.
fn plan(families: &[&[Group]]) -> SlicePlan {
    let types = families.iter().zip([AddressType::Ipv4, AddressType::Ipv6]).map(|(groups, address_type)| {
        let groups = groups.iter().zip(80..).map(|((endpoints, slices), port)| {
            let ports = vec![EndpointPort { port: Some(port), ..EndpointPort::default() }];
            (PortSet::new(ports), PortGroupStatistics { endpoints: *endpoints, slices: *slices })
        });
        AddressTypePlan {
            address_type,
            create: vec![EndpointSlice::default()],
            update: vec![EndpointSlice::default(); 2],
            delete: vec![],
            withdrawals: BTreeSet::new(),
            creates_suppressed: false,
            statistics: PlanStatistics {
                endpoints_added: 30,
                endpoints_updated: 2,
                endpoints_removed: 0,
                groups: groups.collect(),
            },
            topology: None,
            tolerated: vec![],
        }
    });
    SlicePlan { types: types.collect(), delete_if_unchanged: vec![] }
}

#[test]
fn gauges_are_sums_over_services_ports_and_families() {
    let exposed = Exposed::new();
    let (loose, tight): (&[Group], &[Group]) = (&[(11, 4), (19, 7)], &[(40, 1), (36, 1)]);
    exposed.plan("one", &[loose]);
    assert_eq!(exposed.sums(), ["2", "11", "30"]);
    exposed.plan("two", &[tight]);
    assert_eq!(exposed.sums(), ["4", "13", "106"]);
    exposed.plan("three", &[loose]);
    assert_eq!(exposed.sums(), ["6", "24", "136"]);
    exposed.plan("one", &[tight]);
    assert_eq!(exposed.sums(), ["6", "15", "182"], "replaced, not added");
    exposed.metrics.forget(&ObjectKey::new("shop", "three"));
    assert_eq!(exposed.sums(), ["4", "4", "152"]);
    for name in ["one", "two", "never seen"] {
        exposed.metrics.forget(&ObjectKey::new("shop", name));
    }
    assert_eq!(exposed.sums(), ["0", "0", "0"]);

    exposed.plan("big", &[&[(100, 1), (101, 2), (0, 1)]]);
    assert_eq!(exposed.sums(), ["3", "4", "201"], "a full slice is one");
    exposed.plan("big", &[&[(0, 1), (0, 1)]]);
    assert_eq!(exposed.sums(), ["1", "2", "0"], "no endpoints need a placeholder, for all ports together");
    exposed.plan("big", &[&[(150, 2)], &[(50, 1)]]);
    assert_eq!(exposed.sums(), ["3", "3", "200"], "better than upstream, which counts one family");
}

#[test]
fn services_are_counted_by_the_traffic_distribution_that_has_an_effect() {
    let exposed = Exposed::new();
    let check = |expected: &[(&str, &str)]| {
        let labelled = |value| format!("{{traffic_distribution=\"{value}\"}}");
        let expected: BTreeMap<String, String> =
            expected.iter().map(|(value, count)| (labelled(value), (*count).to_owned())).collect();
        assert_eq!(exposed.samples("services_count_by_traffic_distribution"), expected);
    };
    exposed.sync_with("one", "", Some("PreferClose"));
    exposed.sync_with("one", "", Some("PreferClose"));
    check(&[("PreferClose", "1")]);
    exposed.sync_with("two", "", Some("PreferClose"));
    exposed.sync_with("three", "", Some("PreferSameNode"));
    exposed.sync_with("four", "", None);
    exposed.sync_with("five", "", Some("SomethingNew"));
    exposed.sync_with("six", "Auto", Some("PreferSameZone"));
    check(&[("PreferClose", "2"), ("PreferSameNode", "1")]);
    exposed.sync_with("two", "", Some("PreferSameZone"));
    check(&[("PreferClose", "1"), ("PreferSameNode", "1"), ("PreferSameZone", "1")]);
    exposed.metrics.forget(&ObjectKey::new("shop", "three"));
    exposed.sync_with("one", "", None);
    exposed.sync_with("two", "auto", Some("PreferSameZone"));
    check(&[("PreferClose", "0"), ("PreferSameNode", "0"), ("PreferSameZone", "0")]);
}

#[test]
fn each_family_of_a_sync_is_observed() {
    let exposed = Exposed::new();
    let sync = |families: &[&[Group]]| {
        exposed.plan("web", families);
        let plan = plan(families);
        exposed.metrics.applied(&service(&[]), &plan, &complete(&plan));
    };
    sync(&[&[(30, 1)]]);
    sync(&[&[(30, 1)], &[(30, 1)]]);
    for (name, sum) in [
        ("endpoints_added_per_sync", "90.0"),
        ("endpoints_updated_per_sync", "6.0"),
        ("endpoints_removed_per_sync", "0.0"),
    ] {
        assert_eq!(
            (exposed.sample(name, "_count").as_str(), exposed.sample(name, "_sum").as_str()),
            ("3", sum)
        );
    }
    assert_eq!(exposed.sample("endpoints_added_per_sync", "_bucket{le=\"16.0\"}"), "0");
    assert_eq!(exposed.sample("endpoints_added_per_sync", "_bucket{le=\"32.0\"}"), "3");

    let failed = || Err(SyncError::Write(Vec::new()));
    for outcome in [Ok(()), Err(SyncError::StaleCache), failed(), failed()] {
        exposed.metrics.common.synced(&outcome, Duration::from_millis(500));
    }
    let syncs = ["success", "stale", "error"]
        .map(|result| exposed.sample("syncs", &format!("{{result=\"{result}\"}}")));
    assert_eq!(syncs, ["1", "1", "2"]);
    assert_eq!(exposed.sample("endpoints_sync_duration", "_sum"), "2.0");

    exposed.sync_with("near", "", Some("PreferClose"));
    exposed.sync_with("hinted", "Auto", Some("PreferClose"));
    let changed = exposed.samples("endpointslices_changed_per_sync");
    for (labels, count, sum) in [
        ("{topology=\"Disabled\",traffic_distribution=\"\"}", "3", "9.0"),
        ("{topology=\"Disabled\",traffic_distribution=\"PreferClose\"}", "1", "3.0"),
        ("{topology=\"Auto\",traffic_distribution=\"\"}", "1", "3.0"),
    ] {
        assert_eq!(changed[&format!("_count{labels}")], count, "{labels}");
        assert_eq!(changed[&format!("_sum{labels}")], sum, "{labels}");
    }
}

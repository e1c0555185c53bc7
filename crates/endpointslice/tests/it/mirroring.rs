//! The reconciler as the mirroring of Endpoints uses it, as far as the golden cases of its controller lack it.
#![allow(clippy::needless_pass_by_value)]

use endpointslice::desired::{Mirrored, desired_from_endpoints};
use endpointslice::endpoints::repack_subsets;
use endpointslice::well_known::{
    ENDPOINTSLICE_MIRRORING_CONTROLLER, LAST_APPLIED_CONFIGURATION, LAST_CHANGE_TRIGGER_TIME,
};
use endpointslice::{AddressType, Hints, Packing, PlanOptions, SlicePlan, SliceTemplate, plan};
use k8s_openapi::api::core::v1::Endpoints;
use k8s_openapi::api::discovery::v1::EndpointSlice;
use serde_json::{Value, json};

fn endpoints(subsets: Value) -> Endpoints {
    let metadata = json!({"name": "db", "namespace": "shop", "uid": "new", "labels": {"team": "a"},
        "annotations": {"note": "x", LAST_CHANGE_TRIGGER_TIME: "t", LAST_APPLIED_CONFIGURATION: "{}"}});
    serde_json::from_value(json!({"metadata": metadata, "subsets": subsets})).unwrap()
}

fn plan_for(endpoints: &Endpoints, existing: &[EndpointSlice], max: usize) -> SlicePlan {
    let Mirrored { desired, .. } = desired_from_endpoints(endpoints, max);
    let template = SliceTemplate::for_endpoints(endpoints, ENDPOINTSLICE_MIRRORING_CONTROLLER);
    let options = PlanOptions { packing: Packing::Single { max }, placeholder: false, hints: Hints::Keep };
    plan(existing, desired, &template, &options)
}

fn of_type(plan: &SlicePlan, address_type: AddressType) -> &endpointslice::plan::AddressTypePlan {
    plan.types.iter().find(|plan| plan.address_type == address_type).unwrap()
}

/// The slices that the API server stores for a plan on an empty cluster.
fn applied(plan: &SlicePlan) -> Vec<EndpointSlice> {
    let created = plan.types.iter().flat_map(|plan| plan.create.iter().cloned());
    let named = created.enumerate().map(|(number, mut slice)| {
        slice.metadata.name = Some(format!("db-{number}"));
        slice.metadata.resource_version = Some("7".into());
        slice
    });
    named.collect()
}

const PORTS: &str = r#"[{"name": "sql", "port": 5432, "protocol": "TCP", "appProtocol": "postgres"}]"#;

fn ports() -> Value {
    serde_json::from_str(PORTS).unwrap()
}

/// In their canonical form, each of 300 ports has 2,000 addresses of its own.
#[test]
fn subsets_that_share_addresses_without_end_stay_as_they_are() {
    let port = |number: usize| json!({"name": format!("p{number}"), "port": number});
    let ip =
        |block: usize, number: usize| json!({"ip": format!("10.{block}.{}.{}", number / 250, number % 250)});
    let shared: Vec<Value> = (1..=2000).map(|number| ip(1, number)).collect();
    let ports: Vec<Value> = (1..=300).map(port).collect();
    let mut subsets = vec![json!({"addresses": shared, "ports": ports})];
    subsets.extend((1..=300).map(|number| json!({"addresses": [ip(2, number)], "ports": [port(number)]})));
    let subsets = endpoints(json!(subsets)).subsets.unwrap();
    assert!(repack_subsets(&subsets) == subsets);
    let packed = repack_subsets(&subsets[..1]);
    let [one] = &packed[..] else { panic!("several subsets") };
    let first = one.addresses.as_ref().unwrap()[..2].iter().map(|address| &*address.ip);
    assert!(first.eq(["10.1.0.1", "10.1.0.10"]), "ports of one subset share its addresses");
    assert_eq!(repack_subsets(&subsets[..3]).len(), 3);
}

#[test]
fn a_difference_in_metadata_replaces_the_slice() {
    let custom = endpoints(json!([{"addresses": [{"ip": "10.1.0.1"}], "ports": ports()}]));
    let settled = applied(&plan_for(&custom, &[], 1000)).remove(0);
    let edits: [fn(&mut EndpointSlice); 4] = [
        |slice| drop(slice.metadata.labels.as_mut().unwrap().insert("more".into(), "b".into())),
        |slice| slice.metadata.annotations = None,
        |slice| slice.metadata.owner_references.as_mut().unwrap()[0].uid = "old".into(),
        |slice| slice.endpoints.as_mut().unwrap()[0].conditions.as_mut().unwrap().serving = Some(true),
    ];
    for edit in edits {
        let mut edited = settled.clone();
        edited.metadata.finalizers = Some(vec!["theirs".into()]);
        edit(&mut edited);
        let plan = plan_for(&custom, &[edited], 1000);
        let [update] = &of_type(&plan, AddressType::Ipv4).update[..] else { panic!("{plan:#?}") };
        let metadata = &update.metadata;
        assert_eq!((metadata.name.as_deref(), &metadata.resource_version), (Some("db-0"), &None));
        assert_eq!((&metadata.finalizers, &metadata.generate_name), (&None, &None));
        assert_eq!(json!(metadata.annotations), json!({"note": "x"}));
    }
    let mut without_owner = settled;
    without_owner.metadata.owner_references = None;
    assert!(plan_for(&custom, &[without_owner], 1000).is_empty(), "a missing owner is fine");
}

/// Hints alone cause no write. A slice that is written has the hints of the desired endpoints, not its old ones.
#[test]
fn hints_cause_no_write_and_are_not_copied() {
    let both = endpoints(json!([{"addresses": [{"ip": "10.1.0.1"}, {"ip": "10.1.0.2"}], "ports": ports()}]));
    let mut existing = applied(&plan_for(&both, &[], 1000));
    for endpoint in existing[0].endpoints.iter_mut().flatten() {
        endpoint.hints = Some(serde_json::from_value(json!({"forZones": [{"name": "a"}]})).unwrap());
    }
    assert!(plan_for(&both, &existing, 1000).is_empty());
    let one = endpoints(json!([{"addresses": [{"ip": "10.1.0.1"}], "ports": ports()}]));
    let plan = plan_for(&one, &existing, 1000);
    let [update] = &of_type(&plan, AddressType::Ipv4).update[..] else { panic!("{plan:#?}") };
    assert_eq!(update.endpoints.as_ref().unwrap().len(), 1);
    assert_eq!(update.endpoints.as_ref().unwrap()[0].hints, None);
}

//! A reconciler that implements no more than it must, and one that starts more.

use std::sync::Arc;

use endpointslice::model::{PodFields, ServiceFields};
use endpointslice::{DesiredEndpoints, Interner, Node, Pod, Service};
use http::Method;
use kube_api::{ApiClient, Encoding};
use scripted_api::script::{Script, Step};
use scripted_api::wire::Wire;

use crate::cache::{Cache, Change, Delta};
use crate::custom::{CustomChange, CustomResource};
use crate::list_watch::Informers;
use crate::reconciler::{Context, SliceReconciler, is_free_name};
use crate::resource::Resource;

struct Minimal;

impl SliceReconciler for Minimal {
    const NAME: &'static str = "minimal.example.com";

    fn publishes(&self, _: &Service) -> bool {
        true
    }

    fn desired(&self, context: &Context<'_>) -> DesiredEndpoints {
        DesiredEndpoints::new(context.service().address_types())
    }
}

fn pod(labels: &[(&'static str, &'static str)]) -> Arc<Pod> {
    let fields =
        PodFields { namespace: "shop", name: "web-1", labels: labels.to_vec(), ..PodFields::default() };
    Arc::new(Pod::new(fields, &mut Interner::default()))
}

/// Kubernetes' own endpoints do not depend on other labels than those of the selector. Those of rules may.
#[test]
fn a_pod_that_stays_selected_queues_its_services_when_its_labels_change() {
    let cache = Cache::default();
    for (name, selector) in [("web", ("app", "web")), ("blue", ("color", "blue")), ("db", ("app", "db"))] {
        let selector = vec![selector];
        let fields = ServiceFields { namespace: "shop", name, selector, ..ServiceFields::default() };
        cache.upsert(Service::new(fields, &mut Interner::default()));
    }
    let (blue, green) =
        (pod(&[("app", "web"), ("color", "blue")]), pod(&[("app", "web"), ("color", "green")]));
    let change = Change::Updated { old: blue, new: green };
    let mut keys = cache.read(|state| Minimal.affected_by_pod(&change, state));
    keys.sort();
    keys.dedup();
    assert_eq!(keys.iter().map(|key| &*key.name).collect::<Vec<_>>(), ["blue", "web"]);
}

/// An object of another kind, in namespace `shop`.
struct Link;

impl Resource for Link {
    const KIND: &'static str = "Link";
    const RESOURCE: &'static str = "links";
    const PATH: &'static str = "";
    type Index = ();

    fn read_json(_: &str, _: &mut Interner) -> Result<(Self, String), serde_json::Error> {
        Ok((Self, String::new()))
    }

    fn namespace(&self) -> &'static str {
        "shop"
    }

    fn name(&self) -> &'static str {
        "link"
    }

    fn is_same(&self, _: &Self) -> bool {
        true
    }
}

impl CustomResource for Link {}

/// Its endpoints would be withdrawn as if it had been deleted.
#[test]
fn an_unreadable_custom_object_holds_up_the_services_of_its_namespace() {
    let cache = Cache::default();
    let delta = Delta::<Link>::Unreadable { namespace: "shop".into(), name: "link".into() };
    cache.apply([delta], "", false);
    let is_held_up = |namespace| {
        let fields = ServiceFields { namespace, name: "web", ..ServiceFields::default() };
        let service = Service::new(fields, &mut Interner::default());
        cache.read(|state| Minimal.check_readable(&service, state).is_err())
    };
    assert!(is_held_up("shop") && !is_held_up("other"));
    cache.upsert(Link);
    assert!(!is_held_up("shop"));
}

/// Otherwise endpoints that depend on it would not follow it.
#[test]
fn a_change_of_a_custom_object_queues_the_services_of_its_namespace() {
    let cache = Cache::default();
    for (namespace, name) in [("shop", "web"), ("shop", "db"), ("other", "web")] {
        let fields = ServiceFields { namespace, name, ..ServiceFields::default() };
        cache.upsert(Service::new(fields, &mut Interner::default()));
    }
    let change = Change::Added(Arc::new(Link));
    let mut keys = cache.read(|state| Minimal.affected_by_custom(CustomChange::new(&change), state));
    keys.sort();
    assert_eq!(keys.iter().map(ToString::to_string).collect::<Vec<_>>(), ["shop/db", "shop/web"]);
}

/// Two sources may read objects of one kind.
#[tokio::test(start_paused = true)]
async fn a_kind_that_is_started_twice_is_listed_once() {
    let wire = Wire(Encoding::Protobuf);
    let answer = wire.watch(&[wire.end_of_list("10")]).hang();
    let script = Script::new([Step::new(Method::GET, "/api/v1/nodes", answer).lacks("labelSelector")]);
    let client = ApiClient::new(script.client(), wire.0, "us");
    let mut informers = Informers::new(client, Arc::default());
    informers.start(informers.of::<Node>());
    informers.start(informers.of::<Node>());
    informers.start(informers.of::<Node>().with_label_selector("zone=a"));
    assert_eq!(informers.caches().kinds().count(), 1);
    informers.caches().synced().await;
    script.check();
}

#[test]
fn a_name_is_that_of_a_lease_and_of_no_controller_of_kubernetes() {
    for (name, is_free) in [
        ("minimal.example.com", true),
        ("a", true),
        ("2-b", true),
        ("a".repeat(63).as_str(), true),
        ("a".repeat(64).as_str(), false),
        ("", false),
        ("-a", false),
        ("a.", false),
        ("a..b", false),
        ("a-.b", false),
        ("a.-b", false),
        ("a--b.c", true),
        ("Minimal", false),
        ("example.com/minimal", false),
        ("endpointslice-controller.k8s.io", false),
        ("endpointslicemirroring-controller.k8s.io", false),
        ("endpointslice-controller.k8s.i", true),
    ] {
        assert_eq!(is_free_name(name), is_free, "{name}");
    }
}

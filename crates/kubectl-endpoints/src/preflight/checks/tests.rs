//! Each outcome of each check.

use std::collections::BTreeMap;

use endpoint_controller_manager::connection::server_version::{self, ServerVersion};
use endpoint_controller_manager::gates::Minor;
use endpoint_controller_manager::options;
use jiff::Timestamp;

use super::super::check::{self, Status};
use super::super::facts::{Answer, ManagerPod, Priority, Takeover};
use super::super::permissions::{Present, needs};
use super::super::unknown::Unknown;
use super::super::writers::{Writers, Written};
use super::*;
use crate::lease::Lease;

const NOW: i64 = 10_000;
/// A cluster that asks for every permission.
const EVERYTHING: Present = Present { openshift: true, lease: false };
const OFF: &str = "*,-endpoints-controller,-endpointslice-controller,-endpointslice-mirroring-controller";

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

fn config(flags: &[&str]) -> Config {
    options::parse(flags).unwrap()
}

fn lease(holder: &str, renewed: i64) -> Lease {
    let is_expired = renewed + 15 <= NOW;
    Lease { holder: holder.to_owned(), renewed: Some(at(renewed)), is_expired, ..Lease::default() }
}

fn held() -> Lease {
    Lease { is_on_hold: true, ..Lease::default() }
}

fn pod(name: &str, controllers: &str) -> ManagerPod {
    let words = ["kube-controller-manager".to_owned(), format!("--controllers={controllers}")];
    ManagerPod { name: name.to_owned(), node: name.to_owned(), words: words.to_vec() }
}

fn written(by: &[(&str, usize, i64)]) -> Writers {
    let written = |(manager, count, second): &(&str, usize, i64)| {
        let object = format!("EndpointSlice shop/of-{manager}");
        ((*manager).to_owned(), Written { count: *count, newest: at(*second), object })
    };
    Writers(by.iter().map(written).collect::<BTreeMap<_, _>>())
}

fn level(level: &str) -> Priority {
    Priority { flow_schema: format!("schema-of-{level}"), level: level.to_owned() }
}

/// A cluster before the migration, in which all is well.
fn facts() -> Facts {
    let allowed = |need| Answer { need, allowed: Ok(true) };
    Facts {
        now: at(NOW),
        version: Ok(ServerVersion { text: "v1.37.2".to_owned(), minor: Some(37) }),
        streaming: Ok(true),
        priority: Ok(Some(level("workload-high"))),
        priority_of_lease: Ok(Some(level("leader-election"))),
        permissions: needs(&config(&[]), EVERYTHING).into_iter().map(allowed).collect(),
        upstream_lease: Ok(Some(lease("node-1_x", NOW - 2))),
        own_lease: Ok(None),
        managers: Ok(vec![pod("kcm-1", "*,bootstrapsigner,tokencleaner")]),
        kubeadm: Ok(None),
        writers: Ok(written(&[("kube-controller-manager", 12, NOW - 60)])),
        takeover: Ok(Takeover { services: 5, ..Takeover::default() }),
        workloads: Ok(vec![]),
    }
}

fn find(facts: &Facts, flags: &[&str], subject: &Subject, id: check::Id) -> Check {
    let checks = checks(facts, &config(flags), subject, false);
    let check = checks.into_iter().find(|check| check.id == id.name).unwrap();
    assert_eq!(check.remedy.is_none(), check.status == Status::Ok, "{check:?}");
    assert!(!check.message.is_empty() && !check.message.ends_with('.'), "{check:?}");
    check
}

/// Asserts the status of a check, and what its message has.
fn expect(facts: &Facts, id: check::Id, status: Status, text: &str) {
    expect_with(facts, &[], id, status, text);
}

fn expect_with(facts: &Facts, flags: &[&str], id: check::Id, status: Status, text: &str) {
    let check = find(facts, flags, &Subject::Caller, id);
    assert_eq!(check.status, status, "{check:?}");
    assert!(check.message.contains(text), "{text:?} in {check:?}");
}

fn changed(change: impl FnOnce(&mut Facts)) -> Facts {
    let mut facts = facts();
    change(&mut facts);
    facts
}

#[test]
fn a_prepared_cluster_is_in_order() {
    let checks = checks(&facts(), &config(&[]), &Subject::Caller, false);
    for check in &checks {
        assert_eq!((check.status, &check.remedy), (Status::Ok, &None), "{check:?}");
    }
    let mut ids: Vec<&str> = checks.iter().map(|check| check.id).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!((ids.len(), checks.len()), (18, 18));
    let page = include_str!("../../../../../docs/operate/preflight.md");
    ids.push(check::ACCOUNT_RBAC.name);
    for id in ids {
        assert!(page.contains(&format!("`{id}`")), "docs/operate/preflight.md lacks {id}");
    }
}

#[test]
fn what_may_not_be_read_is_not_checked() {
    let unknown = || Unknown::forbidden("list x");
    let facts = Facts {
        version: Err(unknown()),
        streaming: Err(unknown()),
        priority: Err(unknown()),
        priority_of_lease: Err(unknown()),
        permissions: needs(&config(&[]), EVERYTHING)
            .into_iter()
            .map(|need| Answer { need, allowed: Err(unknown()) })
            .collect(),
        upstream_lease: Err(unknown()),
        own_lease: Err(unknown()),
        managers: Err(unknown()),
        kubeadm: Err(unknown()),
        writers: Err(unknown()),
        takeover: Err(unknown()),
        workloads: Err(unknown()),
        ..facts()
    };
    for check in checks(&facts, &config(&[]), &Subject::Caller, false) {
        assert_eq!(check.status, Status::NotChecked, "{check:?}");
        assert_eq!(check.message, "This needs permission to list x");
        assert!(check.remedy.unwrap().contains("list x"));
    }
}

/// Without our Lease it is not known whether endpoint-controller-manager leads: neither two writers nor none can be told.
#[test]
fn built_in_controllers_are_not_judged_without_the_lease() {
    for controllers in ["*", OFF] {
        let facts = changed(|facts| {
            facts.managers = Ok(vec![pod("kcm", controllers)]);
            facts.own_lease = Err(Unknown::forbidden("get leases"));
        });
        expect(&facts, check::BUILT_INS, Status::NotChecked, "get leases");
    }
}

#[test]
fn releases_outside_of_the_range_are_warned_about() {
    let version = |text: &str, minor| {
        changed(|facts| facts.version = Ok(ServerVersion { text: text.to_owned(), minor }))
    };
    let old = version("v1.32.1", Some(32));
    expect(&old, check::VERSION, Status::Warning, "older than 1.34");
    let new = version("v1.38.0", Some(38));
    expect(&new, check::VERSION, Status::Warning, "newer than 1.37");
    let behind = version("v1.34.4", Some(34));
    expect(&behind, check::VERSION, Status::Warning, "endpoint-controller-manager behaves as 1.37");
    for minor in 34..=37 {
        let flag = server_version::flag(Minor::new(minor));
        let server = version(&format!("v1.{minor}.4"), Some(minor));
        expect_with(&server, &[&flag], check::VERSION, Status::Ok, "1.34 to 1.37 are supported");
    }
    expect(&version("dev", None), check::VERSION, Status::Warning, "dev is none of Kubernetes'");
}

#[test]
fn an_api_server_without_streaming_lists_is_a_warning() {
    let facts = changed(|facts| facts.streaming = Ok(false));
    expect(&facts, check::STREAMING, Status::Warning, "WatchList");
}

#[test]
fn shared_priority_levels_are_warned_about() {
    let facts = changed(|facts| {
        facts.priority = Ok(Some(level("global-default")));
        facts.priority_of_lease = Ok(Some(level("catch-all")));
    });
    expect(&facts, check::PRIORITY, Status::Warning, "schema-of-global-default");
    expect(&facts, check::PRIORITY_OF_LEASE, Status::Warning, "catch-all");
    let off = changed(|facts| facts.priority = Ok(None));
    expect(&off, check::PRIORITY, Status::Ok, "no priority and fairness");
}

#[test]
fn missing_permissions_are_named() {
    let without = |is_missing: fn(&str) -> bool| {
        changed(|facts| {
            for answer in &mut facts.permissions {
                answer.allowed = Ok(!is_missing(&answer.need.text()));
            }
        })
    };
    let facts = without(|permission| permission == "delete endpointslices");
    expect(&facts, check::SLICE_RBAC, Status::Failed, "may not: delete endpointslices");
    let remedy = find(&facts, &[], &Subject::Caller, check::SLICE_RBAC).remedy.unwrap();
    assert!(remedy.contains("upgrade first with preflight.enabled=false"), "{remedy}");
    expect(&facts, check::ENDPOINTS_RBAC, Status::Ok, "--service-account");
    let user = Subject::User("me".to_owned());
    let message = find(&facts, &[], &user, check::ENDPOINTS_RBAC).message;
    assert_eq!(message, "me has all of 12 permissions");
    let facts = without(|permission| permission.ends_with("/restricted"));
    expect(&facts, check::ENDPOINTS_RBAC, Status::Failed, "create endpoints/restricted");
    let facts = without(|permission| permission.contains("leases"));
    expect(&facts, check::LEASE_RBAC, Status::Failed, "get leases kube-system/endpoint-controller-manager");
    // Not needed everywhere.
    let facts = without(|permission| permission.contains("/finalizers"));
    expect(&facts, check::SLICE_RBAC, Status::Warning, "update services/finalizers");
    let facts = without(|permission| permission.contains("reviews"));
    expect(&facts, check::SERVING_RBAC, Status::Warning, "tokenreviews");
}

#[test]
fn other_writers_are_named() {
    let of = |by: &[(&str, usize, i64)]| changed(|facts| facts.writers = Ok(written(by)));
    let none = of(&[]);
    expect(&none, check::WRITERS, Status::Ok, "no Endpoints");
    let user = of(&[("kube-controller-manager", 2, 0), ("kubectl-edit", 1, NOW - 5)]);
    expect(&user, check::WRITERS, Status::Warning, "kubectl-edit: 1 object, the newest EndpointSlice");
    let both = [("kube-controller-manager", 2, NOW - 30), ("endpoint-controller-manager", 3, NOW - 40)];
    expect(&of(&both), check::WRITERS, Status::Warning, "30 s ago");
    let long_ago = [("kube-controller-manager", 2, 0), ("endpoint-controller-manager", 3, NOW - 40)];
    expect(&of(&long_ago), check::WRITERS, Status::Ok, "endpoint-controller-manager: 3 objects");
}

#[test]
fn leases_are_held_free_or_left() {
    let upstream = |lease| changed(|facts| facts.upstream_lease = Ok(lease));
    expect(&facts(), check::UPSTREAM_LEASE, Status::Ok, "Held by node-1_x, renewed 2 s ago");
    expect(&upstream(Some(lease("node-1_x", 0))), check::UPSTREAM_LEASE, Status::Warning, "does not renew");
    expect(&upstream(None), check::UPSTREAM_LEASE, Status::Warning, "No process holds it");

    let own = |lease| changed(|facts| facts.own_lease = Ok(lease));
    expect(&own(Some(lease("", 0))), check::OWN_LEASE, Status::Ok, "leads at once");
    expect(&own(Some(held())), check::OWN_LEASE, Status::Ok, "waits");
    let left = own(Some(lease("ours_1", 0)));
    expect(&left, check::OWN_LEASE, Status::Warning, "Left by ours_1");
    // Clocks may differ: it may lead, and its Lease must not be freed.
    expect(&left, check::OWN_LEASE, Status::Warning, "unless it still runs");
    let remedy = find(&left, &[], &Subject::Caller, check::OWN_LEASE).remedy.unwrap();
    assert!(!remedy.contains("patch"), "{remedy}");
    expect_with(&facts(), &["--leader-elect=false"], check::OWN_LEASE, Status::Warning, "uses no Lease");
}

#[test]
fn exactly_one_program_should_write() {
    let case = |own: Option<Lease>, pods: &[&str]| {
        changed(|facts| {
            facts.own_lease = Ok(own);
            facts.managers = Ok(pods.iter().map(|controllers| pod("kcm", controllers)).collect());
        })
    };
    let ours = || Some(lease("ours_1", NOW - 1));
    for (own, pods, status, text) in [
        (None, ["*", "*"].as_slice(), Status::Ok, "endpointslice-mirroring-controller (2 pods)"),
        (None, &[], Status::Warning, "cannot be read"),
        (ours(), &["*"], Status::Failed, "Two programs write"),
        (ours(), &[OFF, "*,-endpoint"], Status::Failed, "runs endpointslice-controller, "),
        (ours(), &[OFF], Status::Ok, "runs none"),
        (Some(held()), &[OFF, "*"], Status::Warning, "differ"),
        (Some(held()), &[OFF], Status::Warning, "No program writes"),
        (None, &[OFF], Status::Failed, "runs none"),
        (None, &["*,-endpoints-controller"], Status::Failed, "only endpointslice-controller"),
    ] {
        expect(&case(own, pods), check::BUILT_INS, status, text);
    }
    // In a rollback the standbys are changed first.
    let mut standby = case(ours(), &[OFF]);
    standby.managers.as_mut().unwrap().push(pod("node-2", "*"));
    standby.managers.as_mut().unwrap()[0].node = "node-1".to_owned();
    expect(&standby, check::BUILT_INS, Status::Warning, "standbys of kube-controller-manager run");
    standby.upstream_lease = Ok(Some(lease("node-2_x", NOW - 2)));
    expect(&standby, check::BUILT_INS, Status::Failed, "Two programs write");
    for (before_release, status) in [(false, Status::Ok), (true, Status::Failed)] {
        let checks = checks(&case(Some(held()), &["*"]), &config(&[]), &Subject::Caller, before_release);
        let check = checks.iter().find(|check| check.id == check::BUILT_INS.name).unwrap();
        assert_eq!(check.status, status, "{check:?}");
    }
    // A controller that endpoint-controller-manager is not to run does not matter.
    let flags = ["--controllers=endpointslice-controller"];
    let facts = case(None, &["*,-endpoints-controller"]);
    expect_with(&facts, &flags, check::BUILT_INS, Status::Ok, "runs endpointslice-controller");
}

#[test]
fn kubeadm_keeps_two_controllers_by_name() {
    let case = |controllers: &str, configuration: &str| {
        changed(|facts| {
            facts.managers = Ok(vec![pod("kcm-1", controllers)]);
            facts.kubeadm = Ok(Some(configuration.to_owned()));
        })
    };
    let good = "*,bootstrapsigner,tokencleaner,-endpoints-controller";
    let stored = format!("controllerManager: {{extraArgs: [{{name: controllers, value: '{good}'}}]}}");
    expect(&case(good, &stored), check::KUBEADM, Status::Ok, "keeps");
    expect(&case("*,bootstrapsigner,tokencleaner", ""), check::KUBEADM, Status::Ok, "keeps");
    // What kubeadm writes next: after a handover the controllers again, after a rollback none.
    expect(&case(good, ""), check::KUBEADM, Status::Warning, "differ in endpoints-controller");
    expect(
        &case("*,bootstrapsigner,tokencleaner", &stored),
        check::KUBEADM,
        Status::Warning,
        "differ in endpoints-",
    );
    expect(&case(OFF, ""), check::KUBEADM, Status::Failed, "the pod kcm-1 has --controllers=*,-endpoints");
    let stored = "controllerManager: {extraArgs: [{name: controllers, value: '*,bootstrapsigner'}]}";
    expect(
        &case(good, stored),
        check::KUBEADM,
        Status::Failed,
        "kubeadm-config has --controllers=*,bootstrap",
    );
    // A trap that is found does not depend on what is not.
    let mut unread = case(good, stored);
    unread.managers = Err(Unknown::forbidden("list pods"));
    expect(&unread, check::KUBEADM, Status::Failed, "without tokencleaner");
    unread.kubeadm = Ok(Some(String::new()));
    expect(&unread, check::KUBEADM, Status::NotChecked, "list pods");
}

#[test]
fn planned_writes_are_named() {
    let takeover = |change: fn(&mut Takeover)| changed(|facts| change(facts.takeover.as_mut().unwrap()));
    let facts = takeover(|it| it.deletions = vec!["Endpoints db/pg: No Service has this name".to_owned()]);
    expect(&facts, check::DELETIONS, Status::Warning, "deletes 1 object: Endpoints db/pg");
    expect(&facts, check::PLANS, Status::Ok, "5 Services change nothing");
    let facts =
        takeover(|it| it.changes = (0..12).map(|n| format!("update EndpointSlice shop/{n}")).collect());
    expect(&facts, check::PLANS, Status::Failed, "12 writes: update EndpointSlice shop/0");
    expect(&facts, check::PLANS, Status::Failed, "shop/9; and 2 more");
    let facts = takeover(|it| it.problems = vec!["the x keeps failing".to_owned()]);
    expect(&facts, check::PLANS, Status::Warning, "keeps failing");
}

#[test]
fn leftovers_are_those_of_a_program_that_does_not_lead() {
    let case = |own: Option<Lease>, workloads: &[&str], by: &[(&str, usize, i64)]| {
        changed(|facts| {
            facts.own_lease = Ok(own);
            facts.workloads = Ok(workloads.iter().map(|&it| it.to_owned()).collect());
            facts.writers = Ok(written(by));
        })
    };
    let ours = || Some(lease("ours_1", NOW - 1));
    let by = [("endpoint-controller-manager", 3, 0)];
    let deployment = ["Deployment kube-system/ecm (2 of 2 ready)"];
    for (own, workloads, status, text) in [
        (None, [].as_slice(), Status::Ok, "No Deployment"),
        (None, &deployment, Status::Warning, "Left of an earlier try"),
        (Some(lease("ours_1", 0)), &deployment, Status::Warning, "Left of an earlier try"),
        (Some(held()), &deployment, Status::Ok, "waits"),
        (Some(held()), &[], Status::Warning, "The Lease is on hold"),
        (ours(), &deployment, Status::Ok, "runs: Deployment"),
        (ours(), &[], Status::Ok, "in no Deployment"),
    ] {
        expect(&case(own, workloads, &by), check::WORKLOADS, status, text);
    }
    expect(&case(None, &[], &by), check::OBJECTS, Status::Warning, "last writer of 3 objects");
    expect(&case(ours(), &[], &by), check::OBJECTS, Status::Ok, "leads");
}

//! `FlowSchemas`: the API server serves our requests at the priority of kube-controller-manager's, and a flood of other
//! requests does not cost a leader its Lease.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::time::{Duration, Instant};

use k8s_openapi::api::coordination::v1::LeaseSpec;
use kube::Client;
use serde_json::{Value, json};
use tests::cluster::{self, User};
use tests::manager::{Controller, LeaderElection, Manager, ManagerOptions};
use tests::pages::{Page, Pages};
use tests::requests::{self, create};
use tests::scenario::{Pod, World};
use tests::variables::variable;
use tests::wait::{self, Calm, LIMIT};
use tokio::task::JoinSet;

use super::STATIC_POD;
use super::dead_webhook::Webhook;
use super::manifests::{deployment, file, kustomization, text};
use super::site::{ACCOUNT, Certified, SYSTEM, Site};

const FLOW_SCHEMAS: &str = "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas";
const LEVELS: &str = "/apis/flowcontrol.apiserver.k8s.io/v1/prioritylevelconfigurations";
/// Requests of each kind: the one for our Lease, the others.
pub(crate) const LEASE: &str =
    "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/endpoint-controller-manager";
const OTHERS: [&str; 3] = ["/api/v1/services?limit=1", "/api/v1/nodes?limit=1", "/version"];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn our_requests_have_the_priority_of_kube_controller_manager() {
    let (in_pod, fixed) = (kustomization("base"), kustomization("overlays/static-pod"));
    let without_priority: Vec<Value> =
        fixed.iter().filter(|object| text(object, "/kind") != "FlowSchema").cloned().collect();
    let static_pod = file(STATIC_POD)[0]["spec"].clone();
    let certified = Certified::prepare(&without_priority, static_pod, &[]).await;
    let client = certified.site.cluster.client();
    let by_certificate = cluster::client(&certified.kubeconfig(ACCOUNT)).await.unwrap();
    // Guards against a server that gives everyone this priority.
    has_priority(&client, &by_certificate, LEASE, "global-default", "global-default").await;
    for schema in fixed.iter().filter(|object| text(object, "/kind") == "FlowSchema") {
        create(&client, schema).await.unwrap();
    }
    has_priority(&client, &by_certificate, LEASE, "leader-election", "workload-high").await;

    let site = Site::prepare(&in_pod, deployment(), Vec::new()).await;
    let token = site.kubeconfig((SYSTEM, ACCOUNT), &site.server()).await;
    let by_token = cluster::client(&token).await.unwrap();
    has_priority(&site.cluster.client(), &by_token, LEASE, "leader-election", "workload-high").await;
}

/// Waits until requests of `subject`, for a Lease and for others, have these priority levels, by `FlowSchemas` of ours if they are
/// not the default.
pub(crate) async fn has_priority(
    admin: &Client,
    subject: &Client,
    lease: &str,
    for_leases: &str,
    for_others: &str,
) {
    let subject = Pages::by(subject.clone());
    let schema_of = |level: &str| match level {
        "leader-election" => "endpoint-controller-manager-leader-election".to_owned(),
        "workload-high" => ACCOUNT.to_owned(),
        other => other.to_owned(),
    };
    let others = OTHERS.map(|path| (path, for_others));
    for (path, level) in others.into_iter().chain([(lease, for_leases)]) {
        let uids = [(FLOW_SCHEMAS, schema_of(level)), (LEVELS, level.to_owned())];
        wait::until(&format!("{path} at {level}"), LIMIT, async || {
            let page = subject.get(path).await?;
            let expected =
                (uid(admin, uids[0].0, &uids[0].1).await?, uid(admin, uids[1].0, &uids[1].1).await?);
            let found = (header(&page, "flowschema"), header(&page, "prioritylevel"));
            if found == expected { Ok(()) } else { Err(format!("{found:?} instead of {expected:?}")) }
        })
        .await;
    }
}

/// A header in which the API server names the object that decided about the priority.
fn header(page: &Page, kind: &str) -> String {
    let value = page.headers.get(format!("x-kubernetes-pf-{kind}-uid"));
    value.map(|value| value.to_str().unwrap().to_owned()).unwrap_or_default()
}

async fn uid(admin: &Client, collection: &str, name: &str) -> Result<String, String> {
    let request = http::Request::get(format!("{collection}/{name}")).body(Vec::new()).unwrap();
    let object: Value = admin.request(request).await.map_err(|error| error.to_string())?;
    Ok(text(&object, "/metadata/uid").to_owned())
}

/// The two shapes differ in the subject alone, and the rule for Leases allows what the role for them allows.
#[test]
fn flow_schemas_differ_in_their_subject_alone() {
    let schemas = |path: &str| {
        let mut schemas = file(path);
        let subjects: Vec<Value> =
            schemas.iter_mut().map(|schema| schema["spec"]["rules"][0]["subjects"].take()).collect();
        (schemas, subjects)
    };
    let (in_pod, accounts) = schemas("base/flow-schemas.yaml");
    let (fixed, users) = schemas("overlays/static-pod/flow-schemas.yaml");
    assert_eq!(in_pod, fixed);
    let account =
        json!([{"kind": "ServiceAccount", "serviceAccount": {"name": ACCOUNT, "namespace": SYSTEM}}]);
    assert_eq!(accounts, [account.clone(), account]);
    let user = json!([{"kind": "User", "user": {"name": ACCOUNT}}]);
    assert_eq!(users, [user.clone(), user]);
    let role = &file("base/rbac/leader-election.yaml")[0]["rules"][0];
    let rule = &in_pod[0]["spec"]["rules"][0]["resourceRules"][0];
    for same in ["apiGroups", "resources", "verbs"] {
        assert_eq!(role[same], rule[same], "{same}");
    }
}

/// The time for which the flood continues; `cargo xtask priority-flood` sets it. By default, leaders could lose their Lease twice.
fn duration(election: LeaderElection) -> Duration {
    variable("PRIORITY_FLOOD_MINUTES").map_or(election.renew_deadline * 2, Duration::from_mins)
}

/// The durations of both leaders: the defaults, or a multiple where requests take long without a flood.
fn election(calm: Calm) -> LeaderElection {
    let LeaderElection { lease_duration, renew_deadline, retry_period } = LeaderElection::DEFAULT;
    let times = calm.bound(renew_deadline).as_secs().div_ceil(renew_deadline.as_secs());
    let times = u32::try_from(times).unwrap();
    LeaderElection {
        lease_duration: lease_duration * times,
        renew_deadline: renew_deadline * times,
        retry_period: retry_period * times,
    }
}

/// The Lease of the program without `FlowSchemas`.
const UNPROTECTED: &str = "unprotected";
/// Requests of the flood at a time: more than the API server's seats, and few for the machine, because each waits for
/// an admission webhook that does not answer.
const FLOOD: usize = 100;
const SEATS: [&str; 2] = ["--max-requests-inflight=20", "--max-mutating-requests-inflight=20"];

/// Two leaders and one flood: the static pod with its `FlowSchemas`, and a program with another user and without.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_flood_of_other_requests_costs_only_a_leader_without_flow_schemas_its_lease() {
    let static_pod = file(STATIC_POD)[0]["spec"].clone();
    let certified = Certified::prepare(&kustomization("overlays/static-pod"), static_pod, &SEATS).await;
    let site = &certified.site;
    let admin = site.cluster.client();
    let world = World::prepare(admin.clone(), Controller::ALL).await;
    allow(&admin).await;
    let webhook = Webhook::start().await;
    let stuck = webhook.configuration("configmaps", "flood", Duration::from_secs(30));
    create(&admin, &serde_json::to_value(stuck).unwrap()).await.unwrap();

    let kubeconfig = certified.kubeconfig(ACCOUNT);
    let by_certificate = cluster::client(&kubeconfig).await.unwrap();
    has_priority(&admin, &by_certificate, LEASE, "leader-election", "workload-high").await;
    let calm = Calm::measure(async |_| drop(site.leases().get(ACCOUNT).await.unwrap())).await;
    let election = election(calm);
    let options = ManagerOptions { leader_election: Some(election), ..site.options(&kubeconfig) };
    let mut protected = Manager::ours(&site.cluster, &options).await;
    // It leads: it writes.
    world.sync().await;
    let mut unprotected = Manager::ours(&site.cluster, &unprotected(election)).await;
    let holds = async |lease| holder(site, lease).await;
    let first = wait::until("a leader without FlowSchemas", LIMIT, || holds(UNPROTECTED)).await;
    let leader = wait::until("a leader with FlowSchemas", LIMIT, || holds(ACCOUNT)).await;

    let flood = flood(&site.cluster.client_of(User::ThirdParty).await);
    let start = Instant::now();
    let status = unprotected.process().ended(LIMIT).await;
    report(&format!("without FlowSchemas: {} lost its Lease after {:.0?}", name(&first), start.elapsed()));
    assert!(!status.success(), "{status}");
    let log = std::fs::read_to_string(unprotected.process().log()).unwrap();
    assert!(log.contains("Lost lease"), "{}", unprotected.process().tail());

    let mut longest = Duration::ZERO;
    let (mut renewed, mut seen) = (leader.clone(), Instant::now());
    for service in 0.. {
        // The other requests of the leader are served too.
        let service = format!("in-the-flood-{service}");
        world
            .service(&service, json!({}), json!({"selector": {"app": service}, "ports": [{"port": 80}]}))
            .await;
        world.pod(Pod::new(&service, &service, 0x4000)).await;
        world.expect(&service, "IPv4", 1, 1).await;
        protected.process().alive().unwrap();
        let record = holds(ACCOUNT).await.unwrap();
        let term = |spec: &LeaseSpec| (spec.holder_identity.clone(), spec.lease_transitions);
        assert_eq!(term(&record), term(&leader), "the Lease changed hands");
        if record.renew_time != renewed.renew_time {
            (renewed, seen) = (record, Instant::now());
        }
        longest = longest.max(seen.elapsed());
        if start.elapsed() > duration(election) {
            report(&format!(
                "with FlowSchemas: the Lease holds after {:.0?} of flood, and {service} has its slice; \
                the longest time without a renewal was {longest:.0?}",
                start.elapsed()
            ));
            break;
        }
        world.delete_service(&service).await;
        world.gone(&service).await;
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    assert!(longest < election.renew_deadline, "{longest:?}");
    let dispatched = dispatched(&admin).await;
    for schema in ["endpoint-controller-manager-leader-election", ACCOUNT, "global-default"] {
        assert!(dispatched.get(schema).is_some_and(|count| *count > 0.0), "{schema}: {dispatched:?}");
    }
    drop(flood);
    assert!(protected.stop().await.success());
}

/// Permissions of the flood, and of the program with another Lease.
async fn allow(admin: &Client) {
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "flood"}});
    create(admin, &namespace).await.unwrap();
    let leases = json!({"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["get", "update", "create"]});
    let maps = json!({"apiGroups": [""], "resources": ["configmaps"], "verbs": ["create"]});
    for (namespace, user, rule) in
        [(SYSTEM, User::EndpointControllers, leases), ("flood", User::ThirdParty, maps)]
    {
        let metadata = json!({"name": "flood", "namespace": namespace});
        let role = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": metadata, "rules": [rule]});
        create(admin, &role).await.unwrap();
        let subject = requests::user(user.name());
        create(admin, &requests::binding("flood", Some(namespace), "flood", &subject)).await.unwrap();
    }
}

/// The options of a leader without `FlowSchemas`, with the durations of the other one.
fn unprotected(election: LeaderElection) -> ManagerOptions {
    ManagerOptions {
        user: User::EndpointControllers,
        leader_election: Some(election),
        flags: vec![format!("--leader-elect-resource-name={UNPROTECTED}")],
        ..ManagerOptions::of(&[Controller::EndpointSliceMirroring])
    }
}

/// The record of a Lease that is held.
async fn holder(site: &Site, lease: &str) -> Result<LeaseSpec, String> {
    let lease = site.leases().get(lease).await.map_err(|error| error.to_string())?;
    let held =
        lease.spec.filter(|spec| spec.holder_identity.as_deref().is_some_and(|holder| !holder.is_empty()));
    held.ok_or_else(|| "released".to_owned())
}

fn name(record: &LeaseSpec) -> &str {
    record.holder_identity.as_deref().unwrap_or_default()
}

/// Requests that occupy the seats of level global-default, until this is dropped. Nothing is stored.
fn flood(client: &Client) -> JoinSet<()> {
    let mut requests = JoinSet::new();
    for _ in 0..FLOOD {
        let client = client.clone();
        requests.spawn(async move {
            let map =
                json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": "flood-"}});
            loop {
                let request = http::Request::post("/api/v1/namespaces/flood/configmaps?dryRun=All");
                let request = request.header("Content-Type", "application/json");
                let request = request.body(serde_json::to_vec(&map).unwrap()).unwrap();
                if client.request::<Value>(request).await.is_err() {
                    // Refused, because the queue is full: clients wait for the time that the API server names.
                    tokio::time::sleep(Duration::from_secs(1)).await;
                }
            }
        });
    }
    requests
}

/// The requests that the API server has dispatched, by `FlowSchema`.
async fn dispatched(admin: &Client) -> BTreeMap<String, f64> {
    let request = http::Request::get("/metrics").body(Vec::new()).unwrap();
    let page = admin.request_text(request).await.unwrap();
    let mut counts = BTreeMap::new();
    let lines =
        page.lines().filter(|line| line.starts_with("apiserver_flowcontrol_dispatched_requests_total{"));
    for line in lines {
        let schema = line.split(r#"flow_schema=""#).nth(1).unwrap().split('"').next().unwrap();
        *counts.entry(schema.to_owned()).or_default() +=
            line.rsplit(' ').next().unwrap().parse::<f64>().unwrap();
    }
    counts
}

/// Prints a figure. Not `eprintln!`, which is only shown if the test fails.
fn report(line: &str) {
    let mut stderr = std::io::stderr();
    writeln!(stderr, "{line}").unwrap();
}

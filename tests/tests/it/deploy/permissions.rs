//! The program under the Deployment's `ServiceAccount` and flags: its permissions suffice, and it uses each of them.

use std::collections::BTreeSet;
use std::process::Command;

use k8s_openapi::api::core::v1::Endpoints;
use k8s_openapi::api::rbac::v1::ClusterRole;
use kube::Api;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use serde_json::{Value, json};
use tests::audit::{Mark, Request, assert_allowed};
use tests::binaries;
use tests::cluster::{self, User};
use tests::manager::{Controller, LeaderElection, Manager, ManagerOptions};
use tests::pages::Pages;
use tests::requests::{self, create};
use tests::scenario::{NAMESPACE, Pod, World};
use tests::wait::{self, LIMIT};
use tests::workload::PHASES;

use super::manifests::{deployment, file, folder, is_allowed, kustomization};
use super::site::{ACCOUNT, SYSTEM, Site, user};

/// Each file of permissions, and the client name in the user agent of the requests that need them.
const ROLES: [(&str, &str); 4] = [
    ("endpoints-controller", "endpoint-controller"),
    ("endpointslice-controller", "endpointslice-controller"),
    ("endpointslice-mirroring-controller", "endpointslicemirroring-controller"),
    ("leader-election", "leader-election"),
];
/// Permissions that no request of ours needs: an admission plugin checks them for our user. [`without_permissions`] shows the
/// effect of their lack.
const ASKED_ON_ADMISSION: [(&str, &str); 2] =
    [("update", "services/finalizers"), ("update", "endpoints/finalizers")];

#[test]
fn no_rule_is_broader_than_needed() {
    for (role, _) in ROLES {
        for (verb, resource) in allowed(role) {
            assert!(verb != "*" && !resource.contains('*'), "{role}: {verb} {resource}");
            assert!(verb != "patch" || resource == "events", "{role}: {verb} {resource}");
            assert!(verb != "get" || resource == "leases", "{role}: {verb} {resource}");
            assert!(
                !["secrets", "serviceaccounts"].contains(&resource.as_str()),
                "{role}: {verb} {resource}"
            );
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_permission_is_needed_and_none_is_missing() {
    let flags = [
        // Makes clients list in pages, which needs a permission of its own.
        "--feature-gates=WatchList=false",
        // Makes the owner references of slices depend on permissions.
        "--enable-admission-plugins=OwnerReferencesPermissionEnforcement",
    ];
    let objects = kustomization("overlays/monitoring");
    let site = Site::prepare(&objects, deployment(), flags.map(str::to_owned).to_vec()).await;
    let world = World::prepare(site.cluster.client(), Controller::ALL).await;
    let start = site.cluster.audit().mark();
    Box::pin(work(&site, &world)).await;
    Box::pin(migration(&site, &world)).await;
    assert_allowed(&requests(&site, start));
    Box::pin(without_permissions(&site, &world, start)).await;
    no_client_used_the_permissions_of_another(&requests(&site, start));
}

/// The requests of the program to the API server.
fn requests(site: &Site, mark: Mark) -> Vec<Request> {
    site.requests(&user((SYSTEM, ACCOUNT)), mark)
}

/// The program, with events about mirroring.
async fn start(site: &Site) -> Manager {
    let max_endpoints_per_subset = u32::try_from(MIRRORED).unwrap();
    site.start(|options| ManagerOptions { max_endpoints_per_subset, ..options }).await
}

/// A normal run: elected, at work, scraped, stopped.
async fn work(site: &Site, world: &World) {
    let mut manager = start(site).await;
    world.sync().await;
    for phase in PHASES {
        phase.run(world).await;
    }
    mirroring(world).await;
    metrics(site, &mut manager).await;
    assert!(manager.stop().await.success());
    let lease = site.leases().get(ACCOUNT).await.unwrap().spec.unwrap();
    assert_eq!(lease.holder_identity.as_deref().unwrap_or_default(), "", "the Lease is not released");
}

/// The maximum number of mirrored addresses here: less than the custom Endpoints have, which causes events.
const MIRRORED: usize = 2;

/// Creates, changes and deletes custom Endpoints.
async fn mirroring(world: &World) {
    let endpoints: Api<Endpoints> = Api::namespaced(world.client().clone(), NAMESPACE);
    let change = async |change: Value| {
        endpoints.patch("custom", &PatchParams::default(), &Patch::Merge(change)).await.unwrap();
    };
    custom_endpoints(world, "custom").await;
    world.expect("custom", "IPv4", 1, 1).await;
    let addresses = json!([{"ip": "10.8.0.1"}, {"ip": "10.8.0.2"}, {"ip": "10.8.0.3"}]);
    change(json!({"subsets": [{"addresses": addresses}]})).await;
    world.expect("custom", "IPv4", MIRRORED, MIRRORED).await;
    // The Endpoints still have one address too many: the event is counted.
    change(json!({"metadata": {"labels": {"again": "1"}}})).await;
    world.sync().await;
    endpoints.delete("custom", &DeleteParams::default()).await.unwrap();
    world.expect_sizes("custom", "IPv4", &[]).await;
}

async fn custom_endpoints(world: &World, name: &str) {
    world.service(name, json!({}), json!({"ports": [{"port": 80}]})).await;
    world.endpoints(name, json!({"addresses": [{"ip": "10.8.0.1"}]})).await;
}

/// Every client may read the health pages; metrics need the binding of `metrics-reader.yaml`.
async fn metrics(site: &Site, manager: &mut Manager) {
    let server = format!("https://127.0.0.1:{}", manager.port());
    let client = site.cluster.client();
    for account in ["prometheus", "stranger"] {
        let account = json!({"apiVersion": "v1", "kind": "ServiceAccount",
            "metadata": {"name": account, "namespace": SYSTEM}});
        create(&client, &account).await.unwrap();
    }
    let role = "endpoint-controller-manager:metrics-reader";
    let prometheus = requests::account(SYSTEM, "prometheus");
    create(&client, &requests::binding("prometheus", None, role, &prometheus)).await.unwrap();
    let prometheus = pages(&site.kubeconfig((SYSTEM, "prometheus"), &server).await).await;
    let stranger = pages(&site.kubeconfig((SYSTEM, "stranger"), &server).await).await;
    // Not /metrics, which the harness opens to all clients.
    let path = "/metrics/slis";
    // A refusal, made before the authorizer had loaded the role, is cached for ten seconds.
    wait::until(path, LIMIT, async || match prometheus.get(path).await? {
        page if page.status == 200 => Ok(()),
        page => Err(page.text),
    })
    .await;
    assert_eq!(stranger.get(path).await.unwrap().status, 403);
    assert_eq!(manager.get(path).await.0, 403, "anonymously");
    for path in ["/livez", "/readyz"] {
        assert_eq!(manager.get(path).await.0, 200, "{path}");
    }
}

async fn pages(kubeconfig: &std::path::Path) -> Pages {
    Pages::by(cluster::client(kubeconfig).await.unwrap())
}

/// Tests `disable-built-ins/hold.yaml`: ready, but without writes until it is released. Applying the base afterwards, on the
/// client's side or the server's, does not release it, and the program needs no permission to create the Lease. Applying the hold
/// again does not take the Lease from the leader.
async fn migration(site: &Site, world: &World) {
    site.leases().delete(ACCOUNT, &DeleteParams::default()).await.unwrap();
    kubectl(site, &["create", "--filename=disable-built-ins/hold.yaml"]);
    for mode in ["--server-side=false", "--server-side=true"] {
        kubectl(site, &["apply", mode, "--filename=base/rbac/lease.yaml"]);
        assert!(site.is_held().await, "{mode}");
    }
    let mark = site.cluster.audit().mark();
    let manager = start(site).await;
    world.pod(Pod::new("during-the-migration", "web", 0x3000)).await;
    let readme = std::fs::read_to_string(folder().join("disable-built-ins/README.md")).unwrap();
    let command = readme
        .lines()
        .find_map(|line| line.trim().strip_prefix("kubectl -n kube-system annotate --overwrite lease"));
    let [name, annotation] = *command.unwrap().split_whitespace().collect::<Vec<_>>() else {
        panic!("{command:?}");
    };
    let annotation = annotation.replace("\"$USER\"", "a-test");
    kubectl(site, &["annotate", "--overwrite", "lease", "--namespace=kube-system", name, &annotation]);
    world.sync().await;
    let term = site.term().await;
    kubectl(site, &["apply", "--filename=disable-built-ins/hold.yaml"]);
    let forced = ["apply", "--server-side", "--force-conflicts", "--filename=disable-built-ins/hold.yaml"];
    kubectl(site, &forced);
    world.sync().await;
    assert_eq!(site.term().await, term, "the Lease changed hands");
    let requests = requests(site, mark);
    let elected =
        |request: &Request| request.resource == "leases" && request.is_write() && request.code < 300;
    let elected = requests.iter().position(elected).unwrap();
    let early: Vec<String> = requests[..elected]
        .iter()
        .filter(|request| request.is_write() && request.resource.starts_with("endpoint"))
        .map(ToString::to_string)
        .collect();
    assert!(early.is_empty(), "written before the Lease was free:\n{}", early.join("\n"));
    assert!(manager.stop().await.success());
}

/// A Lease without a hold, which exists already, lets a replica write alongside kube-controller-manager.
#[test]
fn the_documented_migration_applies_nothing_if_the_hold_is_not_created() {
    let readme = std::fs::read_to_string(folder().join("disable-built-ins/README.md")).unwrap();
    let block = readme.lines().skip_while(|line| !line.contains("kubectl create -f deploy/"));
    let block = block.take_while(|line| line.trim() != "```").collect::<Vec<_>>().join("\n");
    let run = |status: u8| {
        let kubectl =
            format!("kubectl() {{ echo \"kubectl $*\"; [ \"$1\" != create ] || return {status}; }}");
        let output = Command::new("sh").args(["-c", &format!("{kubectl}\n{block}")]).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let [created, refused] = [run(0), run(1)];
    assert!(created.contains("apply -k deploy/base") && created.contains("rollout status"), "{created}");
    assert!(refused.contains("create -f") && !refused.contains("apply"), "{refused}");
}

/// The service account may not create the Lease: no replica leads until the Lease is applied again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_deleted_lease_ends_the_leader_and_an_apply_brings_it_back() {
    let site = Site::prepare(&kustomization("base"), deployment(), Vec::new()).await;
    let world = World::prepare(site.cluster.client(), Controller::ALL).await;
    let soon = |options| ManagerOptions { leader_election: Some(LeaderElection::DEFAULT), ..options };
    let mut leader = site.start(soon).await;
    world.sync().await;
    let mark = site.cluster.audit().mark();
    site.leases().delete(ACCOUNT, &DeleteParams::default()).await.unwrap();
    assert!(!leader.process().ended(LIMIT).await.success());
    let tried = |request: &Request| {
        (request.verb.as_str(), request.resource.as_str(), request.code) == ("create", "leases", 403)
    };
    assert!(requests(&site, mark).iter().any(tried), "{:#?}", requests(&site, mark));
    kubectl(&site, &["apply", "--filename=base/rbac/lease.yaml"]);
    let manager = site.start(|options| options).await;
    world.pod(Pod::new("after-the-apply", "web", 0x3100)).await;
    world.sync().await;
    assert!(manager.stop().await.success());
}

/// Runs kubectl in `deploy/` as an administrator.
fn kubectl(site: &Site, args: &[&str]) {
    let mut command = Command::new(binaries::servers().kubectl().expect("kubectl"));
    command.arg("--kubeconfig").arg(site.cluster.kubeconfig(User::Admin)).args(args);
    // By default, that of an earlier API server at the same port could be used.
    command.arg("--cache-dir").arg(site.cluster.folder().join("kubectl"));
    let output = command.current_dir(folder()).output().unwrap();
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// Without the permission to create Endpoints or to set owners, each controller fails and retries. With the events about that,
/// every permission has been used since `begin`.
async fn without_permissions(site: &Site, world: &World, begin: Mark) {
    let manager = start(site).await;
    world.sync().await;
    let mark = site.cluster.audit().mark();
    let roles: Api<ClusterRole> = Api::all(site.cluster.client());
    for (role, _) in &ROLES[..3] {
        let name = format!("endpoint-controller-manager:{role}");
        let mut reduced = roles.get(&name).await.unwrap();
        reduced.rules.iter_mut().flatten().for_each(reduce);
        roles.replace(&name, &PostParams::default(), &reduced).await.unwrap();
    }
    for (verb, resource, subresource) in [
        ("create", "endpoints", ""),
        ("update", "services", "finalizers"),
        ("update", "endpoints", "finalizers"),
    ] {
        wait::until("the authorizer to know", LIMIT, || denied(site, verb, resource, subresource)).await;
    }
    world.service("refused", json!({}), json!({"selector": {"app": "web"}, "ports": [{"port": 80}]})).await;
    custom_endpoints(world, "refused-custom").await;
    wait::until("refusals", LIMIT, async || {
        let requests = requests(site, mark);
        for (_, client) in &ROLES[..3] {
            let resource = if *client == "endpoint-controller" { "endpoints" } else { "endpointslices" };
            let refused = |request: &Request| {
                (part(request), request.verb.as_str(), request.resource.as_str(), request.code)
                    == (*client, "create", resource, 403)
            };
            // More than once: a refused request is retried.
            if requests.iter().filter(|request| refused(request)).count() < 2 {
                return Err(format!("{client} is not refused"));
            }
        }
        Ok(())
    })
    .await;
    // Events are written later, and not all of them if the program is stopped meanwhile.
    wait::until("every permission to be used", LIMIT, async || {
        all_permissions_are_used(&requests(site, begin))
    })
    .await;
    assert!(manager.stop().await.success());
}

fn reduce(rule: &mut k8s_openapi::api::rbac::v1::PolicyRule) {
    let resources = rule.resources.iter().flatten();
    if resources.clone().any(|resource| resource.ends_with("/finalizers")) {
        rule.verbs = vec!["get".to_owned()];
    } else if resources.into_iter().any(|resource| resource == "endpoints") {
        rule.verbs.retain(|verb| verb != "create");
    }
}

async fn denied(site: &Site, verb: &str, resource: &str, subresource: &str) -> Result<(), String> {
    let attributes =
        json!({"namespace": NAMESPACE, "verb": verb, "resource": resource, "subresource": subresource});
    match is_allowed(&site.cluster.client(), &user((SYSTEM, ACCOUNT)), &attributes).await {
        Ok(false) => Ok(()),
        answer => Err(format!("{verb} {resource}/{subresource}: {answer:?}")),
    }
}

/// The end of the user agent, which names the client in the program.
fn part(request: &Request) -> &str {
    request.user_agent.rsplit('/').next().unwrap_or_default()
}

/// The verbs and resources that a file of `base/rbac` allows.
fn allowed(role: &str) -> BTreeSet<(String, String)> {
    let mut allowed = BTreeSet::new();
    for rule in file(&format!("base/rbac/{role}.yaml"))[0]["rules"].as_array().unwrap() {
        let strings =
            |key: &str| rule[key].as_array().unwrap().iter().map(|item| item.as_str().unwrap().to_owned());
        for verb in strings("verbs") {
            allowed.extend(strings("resources").map(|resource| (verb.clone(), resource)));
        }
    }
    allowed
}

/// The verbs and resources that a client was granted.
fn used(requests: &[Request], client: &str) -> BTreeSet<(String, String)> {
    let granted = requests.iter().filter(|request| part(request) == client && request.code != 403);
    granted.map(|request| (request.verb.clone(), request.resource.clone())).collect()
}

fn all_permissions_are_used(requests: &[Request]) -> Result<(), String> {
    let reads = used(requests, "shared-informers");
    for (role, client) in ROLES {
        let used = used(requests, client);
        let unused: Vec<_> = allowed(role)
            .into_iter()
            .filter(|permission| !used.contains(permission) && !reads.contains(permission))
            .filter(|(verb, resource)| !ASKED_ON_ADMISSION.contains(&(verb, resource)))
            // A takeover gate that stays closed counts its event, after ten minutes.
            .filter(|(verb, _)| role != "leader-election" || verb != "patch")
            .collect();
        if !unused.is_empty() {
            return Err(format!("{role} allows what is never done: {unused:?}"));
        }
    }
    Ok(())
}

/// All roles are bound to one account.
fn no_client_used_the_permissions_of_another(requests: &[Request]) {
    for (role, client) in ROLES {
        let (allowed, used) = (allowed(role), used(requests, client));
        let foreign: Vec<_> = used.difference(&allowed).collect();
        assert!(foreign.is_empty(), "{client} does what {role} does not allow: {foreign:?}");
    }
    let delegated = [("get", "configmaps"), ("create", "tokenreviews"), ("create", "subjectaccessreviews")];
    let delegated = delegated.map(|(verb, resource)| (verb.to_owned(), resource.to_owned()));
    assert_eq!(used(requests, "delegated"), BTreeSet::from(delegated));
}

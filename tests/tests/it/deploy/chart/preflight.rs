//! The checks as a hook: helm releases the Lease only if they pass. The test stands in for the kubelet: it runs the
//! program with the arguments and the service account of the Job, and reports how it ended.

use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{Service, ServiceAccount};
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding, Role, RoleBinding};
use kube::Api;
use kube::api::{DeleteParams, Patch, PatchParams};
use serde_json::{Value, json};
use tests::cluster::User;
use tests::requests::create;
use tests::tool::{self, Ended};
use tests::wait::{self, LIMIT};

use super::super::manifests::{authorized, deployment, name};
use super::super::site::{ACCOUNT, SYSTEM, Site};
use super::{chart, helm, only, template};

const JOB: &str = "endpoint-controller-manager-preflight";

#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn an_upgrade_releases_the_lease_only_if_the_checks_pass() {
    let site = Site::prepare(&[], deployment(), Vec::new()).await;
    let with = |hold: bool| json!({"lease": {"hold": hold}, "preflight": {"enabled": true}});
    let (code, outcome) = release(&site, "install", with(true)).await;
    assert_eq!((code, outcome), (0, Ok(())));
    assert!(site.is_held().await);

    // No controller of this cluster has written a slice for it.
    let service = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web", "namespace": "default"},
        "spec": {"selector": {"app": "web"}, "ports": [{"port": 80}]}});
    create(&site.cluster.client(), &service).await.unwrap();
    let (code, outcome) = release(&site, "upgrade", with(false)).await;
    assert_eq!(code, 3);
    assert!(outcome.unwrap_err().contains("pre-upgrade hooks failed"));
    assert!(site.is_held().await);
    nothing_may_read(&site).await;

    let services: Api<Service> = Api::namespaced(site.cluster.client(), "default");
    services.delete("web", &DeleteParams::default()).await.unwrap();
    let (code, outcome) = release(&site, "upgrade", with(false)).await;
    assert_eq!((code, outcome), (0, Ok(())));
    assert!(!site.is_held().await);
    nothing_may_read(&site).await;
}

/// The account of the checks and its permissions end with them, also when they failed.
async fn nothing_may_read(site: &Site) {
    const NAME: &str = "endpoint-controller-manager:preflight";
    let client = || site.cluster.client();
    let accounts: Api<ServiceAccount> = Api::namespaced(client(), SYSTEM);
    assert!(accounts.get_opt(JOB).await.unwrap().is_none());
    assert!(Api::<ClusterRole>::all(client()).get_opt(NAME).await.unwrap().is_none());
    assert!(Api::<ClusterRoleBinding>::all(client()).get_opt(NAME).await.unwrap().is_none());
    assert!(Api::<Role>::namespaced(client(), SYSTEM).get_opt(NAME).await.unwrap().is_none());
    assert!(Api::<RoleBinding>::namespaced(client(), SYSTEM).get_opt(NAME).await.unwrap().is_none());
}

/// RBAC asks for the namespace of a service account, so a Role suffices to impersonate one.
#[test]
fn the_checks_may_impersonate_one_account_of_one_namespace() {
    let values = json!({"lease": {"hold": true}, "preflight": {"enabled": true}});
    for namespace in [SYSTEM, "endpoints"] {
        let objects = template(namespace, &values);
        let impersonating = |object: &&Value| object["rules"].to_string().contains("impersonate");
        let roles: Vec<&Value> = objects.iter().filter(impersonating).collect();
        let names: Vec<String> = roles.iter().map(|role| name(role)).collect();
        assert_eq!(names, [format!("Role {namespace}/{ACCOUNT}:preflight")]);
        let rules = roles[0]["rules"].as_array().unwrap();
        let rule = rules.iter().find(|rule| rule["verbs"] == json!(["impersonate"])).unwrap();
        assert_eq!(
            (&rule["resources"], &rule["resourceNames"]),
            (&json!(["serviceaccounts"]), &json!([ACCOUNT]))
        );
    }
}

/// Neither a pod that cannot start nor one that does not end blocks an upgrade for longer than helm waits by default.
#[test]
fn the_job_ends_before_helm_stops_waiting() {
    let job =
        only(&template(SYSTEM, &json!({"lease": {"hold": true}, "preflight": {"enabled": true}})), "Job");
    assert!(job["spec"]["activeDeadlineSeconds"].as_u64().unwrap() < 300, "{job}");
    let resources = &job["spec"]["template"]["spec"]["containers"][0]["resources"];
    assert!(resources["requests"]["memory"].is_string(), "{resources}");
}

/// Runs helm and the Job that it waits for. Returns the exit code of the checks, and whether helm went on.
async fn release(site: &Site, verb: &str, values: Value) -> (i32, Result<(), String>) {
    let kubeconfig = site.cluster.kubeconfig(User::Admin);
    let verb = verb.to_owned();
    let helm = tokio::task::spawn_blocking(move || {
        let (chart, kubeconfig) = (chart(), kubeconfig.display().to_string());
        let flags = ["--timeout=10m", "--namespace", SYSTEM, "--kubeconfig", &kubeconfig];
        helm(&[&[&verb, "ecm", chart.to_str().unwrap()], &flags[..]].concat(), &values).map(drop)
    });
    let code = run_job(site).await;
    (code, helm.await.unwrap())
}

async fn run_job(site: &Site) -> i32 {
    let jobs: Api<Job> = Api::namespaced(site.cluster.client(), SYSTEM);
    let job = wait::until("the Job", LIMIT, async || {
        let job = jobs.get(JOB).await.map_err(|error| error.to_string())?;
        let ended = job.status.as_ref().is_some_and(|status| status.conditions.is_some());
        if ended { Err("it is that of the last release".to_owned()) } else { Ok(job) }
    })
    .await;
    let spec = serde_json::to_value(job.spec.unwrap().template.spec.unwrap()).unwrap();
    let account = spec["serviceAccountName"].as_str().unwrap();
    authorized(&site.cluster.client()).await;
    let kubeconfig = site.kubeconfig((SYSTEM, account), &site.server()).await;
    let args = spec["containers"][0]["args"].as_array().unwrap().iter().map(|arg| arg.as_str().unwrap());
    let args: Vec<&str> = args.chain(["--confirm-after=0"]).collect();
    assert_eq!(spec["containers"][0]["command"], json!(["/usr/local/bin/kubectl-endpoints"]));
    let Ended { code, stdout, .. } = tool::about(&kubeconfig, &args);
    assert!(!stdout.contains("not checked"), "the Job lacks a permission:\n{stdout}");
    let code = code.unwrap();
    let (now, condition) = (
        "2026-01-01T00:00:00Z",
        |kind: &str| json!({"type": kind, "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}),
    );
    let status = if code == 0 {
        json!({"startTime": now, "completionTime": now, "succeeded": 1,
            "conditions": [condition("SuccessCriteriaMet"), condition("Complete")]})
    } else {
        json!({"startTime": now, "failed": 1, "conditions": [condition("FailureTarget"), condition("Failed")]})
    };
    let change = Patch::Merge(json!({ "status": status }));
    jobs.patch_status(JOB, &PatchParams::default(), &change).await.unwrap();
    code
}

/// To `helm template` each release is an installation: what renders by it must get past the migration, too.
#[test]
fn the_checks_need_no_hold_once_the_built_in_controllers_are_disabled() {
    let values =
        json!({"preflight": {"enabled": true}, "builtInControllersDisabled": true, "lease": {"hold": false}});
    let job = only(&template(SYSTEM, &values), "Job");
    assert!(job.to_string().contains("--before-release"), "{job}");
}

//! The checks as a hook: helm releases the Lease only if they pass. The test stands in for the kubelet: it runs the
//! program with the arguments and the service account of the Job, and reports how it ended.

use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{Service, ServiceAccount};
use kube::Api;
use kube::api::{DeleteParams, Patch, PatchParams};
use serde_json::{Value, json};
use tests::cluster::User;
use tests::wait::{self, LIMIT};
use tests::{binaries, process};

use super::super::manifests::{authorized, create, deployment};
use super::super::site::{ACCOUNT, SYSTEM, Site};
use super::{chart, helm};

const JOB: &str = "endpoint-controller-manager-preflight";
const HOLD: &str = "swap-of-built-in-controllers";

#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn an_upgrade_releases_the_lease_only_if_the_checks_pass() {
    let site = Site::prepare(&[], deployment(), Vec::new()).await;
    let with = |hold: bool| json!({"lease": {"hold": hold}, "preflight": {"enabled": true}});
    let (code, outcome) = release(&site, "install", with(true)).await;
    assert_eq!((code, outcome), (0, Ok(())));
    assert_eq!(site.term().await.0, HOLD);

    // No controller of this cluster has written a slice for it.
    let service = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web", "namespace": "default"},
        "spec": {"selector": {"app": "web"}, "ports": [{"port": 80}]}});
    create(&site.cluster.client(), &service).await.unwrap();
    let (code, outcome) = release(&site, "upgrade", with(false)).await;
    assert_eq!(code, 3);
    assert!(outcome.unwrap_err().contains("pre-upgrade hooks failed"));
    assert_eq!(site.term().await.0, HOLD);

    let services: Api<Service> = Api::namespaced(site.cluster.client(), "default");
    services.delete("web", &DeleteParams::default()).await.unwrap();
    let (code, outcome) = release(&site, "upgrade", with(false)).await;
    assert_eq!((code, outcome), (0, Ok(())));
    assert_eq!(site.term().await.0, "");
    let accounts: Api<ServiceAccount> = Api::namespaced(site.cluster.client(), SYSTEM);
    assert!(accounts.get_opt(JOB).await.unwrap().is_none(), "the rights of the checks end with them");
}

/// Runs helm and the Job that it waits for. Returns the exit code of the checks, and whether helm went on.
async fn release(site: &Site, verb: &str, values: Value) -> (i32, Result<(), String>) {
    let kubeconfig = site.cluster.kubeconfig(User::Admin);
    let verb = verb.to_owned();
    let helm = tokio::task::spawn_blocking(move || {
        let (chart, kubeconfig) = (chart(), kubeconfig.display().to_string());
        let flags = ["--timeout=10m", "--namespace", SYSTEM, "--kubeconfig", &kubeconfig];
        let output = helm(&[&[&verb, "ecm", chart.to_str().unwrap()], &flags[..]].concat(), &values);
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        if output.status.success() { Ok(()) } else { Err(error) }
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
    let kubeconfig = format!("--kubeconfig={}", kubeconfig.display());
    let args: Vec<&str> =
        spec["containers"][0]["args"].as_array().unwrap().iter().map(|arg| arg.as_str().unwrap()).collect();
    let args: Vec<&str> = args.into_iter().chain([kubeconfig.as_str(), "--confirm-after=0"]).collect();
    let program = binaries::endpoint_controller_manager();
    let output = process::output(&program, &args, LIMIT);
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(!printed.contains("not checked"), "the Job lacks a right:\n{printed}");
    let code = output.status.code().unwrap();
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

/// Without the hold the checks would come too late.
#[test]
fn an_installation_with_checks_must_hold_the_lease() {
    let chart = chart();
    let args = ["template", "ecm", chart.to_str().unwrap(), "--namespace", ACCOUNT];
    let output = helm(&args, &json!({"preflight": {"enabled": true}}));
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && error.contains("requires lease.hold=true"), "{error}");
}

//! From command lines and files to a configuration.

use std::time::Duration;

use endpointslice::desired::Conditions;

use super::{config, file};
use crate::config::RequestRate;
use crate::controllers::Controller;

#[test]
fn flags_take_precedence_over_the_file() {
    let (_directory, flag) = file(
        "Generic: {Controllers: [endpoint, endpointslice], EnablePodFieldSelector: false,\n\
         ClientConnection: {qps: 50, burst: null}}\n\
         EndpointSliceController: {MaxEndpointsPerSlice: 200, EndpointUpdatesBatchPeriod: 1m30s}\n\
         EndpointController: {ConcurrentEndpointSyncs: 7}\n\
         JobController: {ConcurrentJobSyncs: 7}",
    );
    let config =
        config(&format!("{flag} --max_endpoints_per_slice=300 --controllers=endpointslicemirroring"))
            .unwrap();
    assert_eq!(config.endpointslice.max_endpoints_per_slice, 300);
    assert_eq!(config.endpointslice.batch_period, Duration::from_secs(90));
    assert_eq!(config.controllers, [Controller::EndpointSliceMirroring]);
    assert_eq!(config.endpoints.workers, 7);
    assert_eq!((config.rate.qps, config.rate.burst), (50.0, 30));
    assert!(!config.select_pods);
    assert!(config.without_effect.iter().any(|field| field.ends_with(": JobController")));
}

#[test]
fn the_sample_files_are_valid() {
    let samples = concat!(env!("CARGO_MANIFEST_DIR"), "/../../config");
    let defaults = config("").unwrap();
    let sample = config(&format!("--config={samples}/endpoint-controller-manager.yaml")).unwrap();
    assert_eq!(sample.without_effect, [""; 0]);
    assert_eq!(sample.configz, defaults.configz, "the commented sample has the defaults");
    let large = config(&format!("--config={samples}/large-cluster.yaml")).unwrap();
    assert!(
        large.rate.qps > defaults.rate.qps && large.endpointslice.workers > defaults.endpointslice.workers
    );
}

#[test]
fn defaults_are_upstreams() {
    let config = config("").unwrap();
    assert_eq!(config.controllers.len(), 3);
    assert_eq!((config.endpoints.workers, config.endpointslice.workers, config.mirroring.workers), (5, 5, 5));
    assert_eq!(config.endpointslice.max_endpoints_per_slice, 100);
    assert_eq!(config.mirroring.max_endpoints_per_subset, 1000);
    assert_eq!(config.shutdown_timeout, Duration::from_secs(10));
    assert_eq!(config.server.serving.secure_port, 10257);
    assert!(config.select_pods && config.server.profiling && !config.use_service_account_credentials);
    assert_eq!(config.server.authorization.always_allow_paths, ["/healthz", "/readyz", "/livez"]);
    assert_eq!(config.without_effect, [""; 0]);
    let election = config.leader_election.expect("on by default");
    assert_eq!((&*election.namespace, &*election.name), ("kube-system", "endpoint-controller-manager"));
}

#[test]
fn feature_gates_reach_the_controllers() {
    let effect = |line: &str| {
        let config = config(line).unwrap();
        let endpoints = config.endpoints;
        (
            [endpoints.services_may_be_delegated, config.mirroring.services_may_be_delegated],
            config.endpointslice.conditions,
            endpoints.tolerate_unready_annotation,
        )
    };
    assert_eq!(effect(""), ([false; 2], Conditions::All, false));
    assert_eq!(
        effect("--feature-gates=EndpointControllerNameWellKnownLabel=true"),
        ([true; 2], Conditions::All, false)
    );
    assert_eq!(
        effect("--feature-gates=EndpointSliceTerminatingCondition=false"),
        ([false; 2], Conditions::ReadyOnly, false)
    );
    assert_eq!(
        effect("--feature-gates=TolerateUnreadyEndpointsAnnotation=true"),
        ([false; 2], Conditions::All, true)
    );
}

#[test]
fn a_command_line_of_kubeadm_is_understood() {
    let config = config(
        "--allocate-node-cidrs=true --authentication-kubeconfig=/etc/kubernetes/controller-manager.conf \
         --authorization-kubeconfig=/etc/kubernetes/controller-manager.conf --bind-address=127.0.0.1 \
         --client-ca-file=/etc/kubernetes/pki/ca.crt --cluster-cidr=10.244.0.0/16 --cluster-name=kubernetes \
         --cluster-signing-cert-file=/etc/kubernetes/pki/ca.crt --cluster-signing-key-file=/etc/kubernetes/pki/ca.key \
         --controllers=*,bootstrapsigner,tokencleaner --kubeconfig=/etc/kubernetes/controller-manager.conf \
         --requestheader-client-ca-file=/etc/kubernetes/pki/front-proxy-ca.crt \
         --root-ca-file=/etc/kubernetes/pki/ca.crt --service-account-private-key-file=/etc/kubernetes/pki/sa.key \
         --service-cluster-ip-range=10.96.0.0/12 --use-service-account-credentials=true",
    );
    let config = config.unwrap();
    assert_eq!(config.controllers.len(), 3);
    assert!(config.use_service_account_credentials);
    assert_eq!(
        config.without_effect,
        [
            "--allocate-node-cidrs",
            "--cluster-cidr",
            "--cluster-name",
            "--cluster-signing-cert-file",
            "--cluster-signing-key-file",
            "--root-ca-file",
            "--service-account-private-key-file",
            "--service-cluster-ip-range",
            "--controllers=bootstrapsigner",
            "--controllers=tokencleaner"
        ]
    );
}

#[test]
fn the_rate_of_requests_is_read_as_client_go_does() {
    let rate = |line: &str| config(line).map(|config| (config.rate.qps, config.rate.burst));
    assert_eq!(rate(""), Ok((20.0, 30)));
    assert_eq!(rate("--kube-api-qps=0"), Ok((5.0, 30)));
    assert_eq!(rate("--kube-api-qps=0 --kube-api-burst=0"), Ok((5.0, 10)));
    assert_eq!(rate("--kube-api-qps=-1 --kube-api-burst=0"), Ok((-1.0, 0)), "no bound");
}

#[test]
fn an_automatic_rate_lies_between_the_default_and_the_ceiling() {
    let rate = |line: &str| config(line).unwrap().rate;
    assert_eq!(rate("--kube-api-qps=auto"), RequestRate { qps: 20.0, burst: 30, ceiling: Some(500.0) });
    assert_eq!(rate("--kube-api-qps=auto --kube-api-qps-ceiling=90").ceiling, Some(90.0));
    assert_eq!(rate("--kube-api-qps-ceiling=90").ceiling, None);
    let (_directory, file) = file("Generic: {ClientConnection: {qps: auto}, KubeAPIQPSCeiling: 100}");
    assert_eq!(rate(&file).ceiling, Some(100.0));
    let shown = config("--kube-api-qps=auto").unwrap();
    assert_eq!(shown.configz["Generic"]["ClientConnection"]["qps"], 20, "/configz has a number there");
    assert!(shown.flags.contains(&("kube-api-qps".to_owned(), "auto".to_owned())));
}

#[test]
fn an_election_that_is_off_is_not_checked() {
    let line = "--leader-elect=false --leader-elect-lease-duration=1s --leader-elect-resource-lock=x";
    assert_eq!(config(line).unwrap().leader_election, None);
}

#[test]
fn a_master_without_scheme_is_plain_http() {
    let master = |text| config(&format!("--master={text}")).unwrap().api_server.master.unwrap().to_string();
    assert_eq!(master("127.0.0.1:8080"), "http://127.0.0.1:8080/");
    assert_eq!(master("https://10.0.0.1:6443"), "https://10.0.0.1:6443/");
}

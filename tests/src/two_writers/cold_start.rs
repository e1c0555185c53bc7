//! Both programs start on a cluster whose Services have neither slices nor Endpoints.

use std::collections::BTreeMap;
use std::time::Duration;

use kube::Api;
use kube::api::ListParams;

use k8s_openapi::api::core::v1::Endpoints;
use k8s_openapi::api::discovery::v1::EndpointSlice;

use super::{OURS, UPSTREAM, Written, all_counted, by_program, yielding};
use crate::audit::Request;
use crate::cluster::{Cluster, ClusterOptions, Seed};
use crate::manager::{Controller, Manager, ManagerOptions};
use crate::wait;

/// The namespace of all seeded Services.
const NAMESPACE: &str = "ns-0";

/// A start of both.
#[derive(Debug, Clone, Copy)]
pub struct ColdStart {
    /// The number of Services, each with one port set and IPv4 only.
    pub services: u32,
    /// The pods of each.
    pub pods: u32,
    /// `--kube-api-qps` of both.
    pub qps: u32,
    /// Ours starts at the same time; otherwise as soon as upstream has begun to write.
    pub at_once: bool,
    /// The feature gate of ours.
    pub yields: bool,
    /// The time without a write of upstream after which ours acts.
    pub grace: Duration,
}

/// The outcome of a start.
#[derive(Debug)]
pub struct Outcome {
    /// Services with more than one create of a slice that was accepted. Without those that ours created after the grace: upstream
    /// may be about to create the same when a machine holds it up for so long.
    pub made_twice: Vec<String>,
    /// Writes by program.
    pub written: BTreeMap<String, Written>,
    /// The end of the log of ours, which has the changes of turn.
    pub log: String,
}

/// Starts both, and waits until every Service has its slice and Endpoints, and, if both start at once, ours has counted all
/// writes of upstream.
///
/// # Panics
/// If that does not happen.
pub async fn run(start: ColdStart) -> Outcome {
    let ColdStart { services, pods, qps, at_once, yields, grace } = start;
    let cluster_options = ClusterOptions { audit_responses: true, ..ClusterOptions::default() };
    let seed = Seed { services, pods, ..Seed::default() };
    let cluster = Cluster::seeded_with(&seed, cluster_options).await;
    let mark = cluster.audit().mark();
    let options = ManagerOptions { qps, ..ManagerOptions::of(Controller::ALL) };
    let _upstream = Manager::upstream(&cluster, &options);
    if !at_once {
        wait::until("upstream to write", wait::LIMIT, || async {
            let written = by_program(&cluster.audit().since(mark));
            if written.is_empty() { Err("no write") } else { Ok(()) }
        })
        .await;
    }
    let ours = if yields { yielding(&options) } else { options.clone() };
    let mut ours = Manager::ours(&cluster, &ours).await;
    let limit = wait::LIMIT + Duration::from_secs(u64::from(2 * services / qps));
    let endpoints: Api<Endpoints> = Api::namespaced(cluster.client(), NAMESPACE);
    let slices: Api<EndpointSlice> = Api::namespaced(cluster.client(), NAMESPACE);
    wait::until("objects of all Services", limit, || async {
        let all = ListParams::default();
        let error = |error: kube::Error| error.to_string();
        let endpoints = endpoints.list_metadata(&all).await.map_err(error)?.items.len();
        let slices = slices.list_metadata(&all).await.map_err(error)?.items.len();
        if endpoints.min(slices) >= services as usize {
            Ok(())
        } else {
            Err(format!("{endpoints} Endpoints and {slices} slices for {services} Services"))
        }
    })
    .await;
    // What was there when ours started is not counted.
    if yields && at_once {
        all_counted(&ours, &cluster, mark, Controller::ALL).await;
    }
    let requests = cluster.audit().since(mark);
    let mut creates: BTreeMap<String, Vec<&Request>> = BTreeMap::new();
    for request in &requests {
        if request.resource == "endpointslices" && request.verb == "create" && request.code < 300 {
            creates.entry(format!("{}/{}", request.namespace, request.name)).or_default().push(request);
        }
    }
    let is_rightly_by_ours =
        |create: &&Request| create.program() == OURS && is_after_grace(create, &requests, grace);
    creates.retain(|_, creates| creates.len() > 1 && !creates.iter().any(is_rightly_by_ours));
    let (made_twice, log) = (creates.into_keys().collect(), ours.process().tail());
    Outcome { made_twice, written: by_program(&requests), log }
}

/// True if the last write of a slice by upstream before this request is older than the grace.
fn is_after_grace(request: &Request, requests: &[Request], grace: Duration) -> bool {
    let is_earlier = |other: &&Request| {
        other.program() == UPSTREAM
            && other.is_write()
            && other.resource == "endpointslices"
            && other.received <= request.received
    };
    let last = requests.iter().filter(is_earlier).map(|other| other.received).max();
    last.is_some_and(|last| request.received.duration_since(last).unsigned_abs() >= grace)
}

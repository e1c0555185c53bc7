//! kube-controller-manager and this program at work on the same objects, with the feature gate `YieldToOtherWriters`.
//!
//! | Module | Shows |
//! |---|---|
//! | [`cold_start`] | both start on Services without any slices: nothing is made twice |
//! | [`load`] | random load: no more writes than upstream's alone, no object alternates, no ready endpoint is ever missing |
//! | [`rounds`] | upstream is killed, and ours acts; it starts again, and ours yields after one foreign write |
//!
//! The test `two_writers` runs them for a few seconds, `hack/two-writers` for as long as it is told.

mod alternation;
pub mod cold_start;
pub mod load;
pub mod rounds;
mod steady;

use std::collections::{BTreeMap, HashSet};

use crate::audit::{Mark, Request};
use crate::cluster::Cluster;
use crate::manager::{Controller, Manager, ManagerOptions};
use crate::metrics::Exposition;
use crate::parity::is_of_endpoints;
use crate::wait::{self, LIMIT};

/// The name of upstream's program, which is also its field manager.
pub const UPSTREAM: &str = "kube-controller-manager";
/// The name of ours.
pub const OURS: &str = "endpoint-controller-manager";

/// Ours with the gate.
fn yielding(options: &ManagerOptions) -> ManagerOptions {
    let flags = [
        "--feature-gates=YieldToOtherWriters=true",
        "--authorization-always-allow-paths=/readyz,/metrics,/statusz",
    ];
    ManagerOptions { flags: flags.map(str::to_owned).to_vec(), ..options.clone() }
}

/// Writes of Endpoints and slices by one program.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Written {
    /// Those that the API server accepted.
    pub accepted: usize,
    /// Those that it refused.
    pub refused: usize,
}

/// The writes of Endpoints and slices by controllers, by program.
fn by_program(requests: &[Request]) -> BTreeMap<String, Written> {
    let mut programs: BTreeMap<String, Written> = BTreeMap::new();
    let is_of_controllers = |request: &&Request| [UPSTREAM, OURS].contains(&request.program());
    let writes = requests.iter().filter(|request| request.is_write() && is_of_endpoints(request));
    for request in writes.filter(is_of_controllers) {
        let written = programs.entry(request.program().to_owned()).or_default();
        *(if request.code < 300 { &mut written.accepted } else { &mut written.refused }) += 1;
    }
    programs
}

/// The foreign writes that ours has counted for each controller.
async fn foreign_writes(ours: &Manager) -> BTreeMap<String, u64> {
    let (status, text) = ours.get("/metrics").await;
    assert_eq!(status, 200, "{text}");
    let page = Exposition::parse(&text).unwrap_or_else(|error| panic!("{error}"));
    let value = |controller: &Controller| {
        let value = page.number("foreign_writes_total", &[("controller", controller.name())]);
        let value = value.unwrap_or_else(|| panic!("no series of {}", controller.name()));
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a small count")]
        (controller.name().to_owned(), value as u64)
    };
    Controller::ALL.iter().map(value).collect()
}

/// Waits until ours has counted every write that these controllers of upstream have made since `mark`, and no other.
///
/// # Panics
/// If it does not, within the limit.
async fn all_counted(ours: &Manager, cluster: &Cluster, mark: Mark, controllers: &[Controller]) {
    wait::until("all writes of upstream to be counted", LIMIT, || async {
        let made = made(&cluster.audit().since(mark), controllers);
        let mut counted = foreign_writes(ours).await;
        counted.retain(|name, count| *count > 0 && controllers.iter().any(|one| one.name() == name));
        if made == counted { Ok(()) } else { Err(format!("made: {made:?}, counted: {counted:?}")) }
    })
    .await;
}

/// The creates and updates of upstream that were accepted and changed something, by controller. An update with the content
/// that is stored gets the version of the write before, and no watch shows it.
///
/// # Panics
/// If the cluster was started without [`ClusterOptions::audit_responses`].
///
/// [`ClusterOptions::audit_responses`]: crate::cluster::ClusterOptions::audit_responses
fn made(requests: &[Request], controllers: &[Controller]) -> BTreeMap<String, u64> {
    let is_accepted = |request: &&Request| {
        matches!(request.verb.as_str(), "create" | "update" | "patch")
            && request.code < 300
            && is_of_endpoints(request)
    };
    let mut accepted: Vec<&Request> = requests.iter().filter(is_accepted).collect();
    accepted.sort_by_key(|request| request.answered);
    let mut versions = HashSet::new();
    let mut made = BTreeMap::new();
    for request in accepted {
        let is_change = versions.insert(request.version.as_ref().expect("the version in the audit log"));
        let client = |controller: &&Controller| request.user_agent.ends_with(controller.client());
        if request.program() == UPSTREAM
            && is_change
            && let Some(controller) = controllers.iter().find(client)
        {
            *made.entry(controller.name().to_owned()).or_default() += 1;
        }
    }
    made
}

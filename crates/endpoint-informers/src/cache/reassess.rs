//! Looking again at pods and nodes that may count differently as ready ([`crate::disruption`]).

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use controller_kit::environment::now;
use endpointslice::disruption::{Period, ScopeState};
use endpointslice::{Node, Pod};
use kube_api::time::sleep;
use tokio::sync::watch;
use tokio::task::yield_now;
use tracing::{info, warn};

use super::state_lock::WriteGuard;
use super::{BATCH_SIZE, Cache};
use crate::disruption::{Disruption, DisruptionReport};
use crate::state::State;

/// The longest sleep: the wall clock, which decides, may be set.
const LONGEST_SLEEP: i64 = 60;

impl Cache {
    /// Applies the [policy about disruptions](Self::with_disruption_policy): looks again at pods and nodes when other nodes, or
    /// time, may have changed what they count as, and logs the begin and the end of disruptions. Never ends.
    ///
    /// Cost: nothing while nothing changes. A change of one node costs the pods of that node; the begin and the end of a
    /// disruption cost the pods of all nodes.
    pub(crate) async fn follow_disruptions(&self) -> Infallible {
        loop {
            while self.reassess() {
                yield_now().await;
            }
            let due = self.read(|state| state.disruption.as_ref().and_then(|disruption| disruption.due_at()));
            let wait = async {
                match due {
                    Some(at) => sleep(until(at)).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                () = self.reassess.notified() => {}
                () = wait => {}
            }
        }
    }

    /// Receives the last report of
    /// [`Informers::follow_disruptions`](crate::list_watch::Informers::follow_disruptions), and each new one.
    pub fn disruptions(&self) -> watch::Receiver<DisruptionReport> {
        self.disruptions.subscribe()
    }

    /// Looks again at the pods of some nodes, about [`BATCH_SIZE`] of them and at most those of one node more, in one hold of the
    /// lock. Returns true if there is more to do; otherwise reports the state.
    pub(crate) fn reassess(&self) -> bool {
        // Declared first and so dropped last: the memory of old objects is freed without the lock.
        let (mut nodes, mut pods) = (Vec::new(), Vec::new());
        let (_hold, mut guard) = self.write();
        let state = &mut *guard;
        let Some(disruption) = &mut state.disruption else { return false };
        let (now, mut seen) = (now().as_second(), 0);
        while seen < BATCH_SIZE
            && let Some(name) = disruption.next(now)
        {
            let node = state.nodes.get("", &name).and_then(|node| reassessed_node(node, disruption, now));
            nodes.extend(node.and_then(|node| state.nodes.revise(node)));
            let on_node = state.pods.index().on_node(&name).inspect(|_| seen += 1);
            let marked: Vec<Arc<Pod>> = on_node.filter(|pod| pod.marked_not_ready).cloned().collect();
            seen += 1;
            let changed = marked.iter().filter_map(|pod| reassessed_pod(pod, disruption, now));
            pods.extend(changed.filter_map(|pod| state.pods.revise(pod)));
        }
        let has_more = disruption.has_next();
        let _ = disruption.take_news();
        // The order of the hash table must not decide which key is synced first.
        pods.sort_unstable_by(|one, other| one.namespaced_name().cmp(&other.namespaced_name()));
        let state = WriteGuard::downgrade(guard);
        self.notify(&state, &nodes, false);
        self.notify(&state, &pods, false);
        if !has_more {
            self.report(&state);
        }
        has_more
    }

    /// Wakes [`Self::follow_disruptions`] if a change has left something to do.
    pub(super) fn wake_if_due(&self, state: &mut State) {
        if state.disruption.as_mut().is_some_and(|disruption| disruption.take_news()) {
            self.reassess.notify_one();
        }
    }

    /// The state of disruptions now.
    pub fn disruption_report(&self) -> DisruptionReport {
        self.read(report_of)
    }

    fn report(&self, state: &State) {
        let report = report_of(state);
        self.disruptions.send_if_modified(|last| {
            if *last == report {
                return false;
            }
            log_changes(&last.scopes, &report);
            *last = report;
            true
        });
    }
}

fn report_of(state: &State) -> DisruptionReport {
    let scopes = state.disruption.as_ref().map_or_else(Vec::new, |disruption| disruption.scopes());
    DisruptionReport { scopes, kept_pods: state.pods.index().kept_ready() }
}

fn reassessed_node(node: &Node, disruption: &mut Disruption, now: i64) -> Option<Arc<Node>> {
    let ready = disruption.counts_node_as_ready(node, now);
    (ready != node.ready).then(|| Arc::new(Node { ready, ..node.clone() }))
}

fn reassessed_pod(pod: &Pod, disruption: &mut Disruption, now: i64) -> Option<Arc<Pod>> {
    let ready = disruption.counts_pod_as_ready(pod, now);
    (ready != pod.ready).then(|| {
        let mut pod = pod.clone();
        pod.ready = ready;
        Arc::new(pod)
    })
}

/// The time until a time of the wall clock, one second at least.
fn until(at: i64) -> Duration {
    let seconds = at.saturating_sub(now().as_second()).clamp(1, LONGEST_SLEEP);
    Duration::from_secs(seconds.unsigned_abs())
}

fn log_changes(before: &[ScopeState], report: &DisruptionReport) {
    let kept_pods = report.kept_pods;
    for ScopeState { zone, period, lost, total } in report.changed_since(before) {
        let zone = zone.as_deref().unwrap_or_default();
        if period.is_ongoing() {
            warn!(zone, lost, total, kept_pods, "Kubelets are lost; pods keep their readiness");
        } else if total == 0 {
            info!(zone, kept_pods, "The last node whose kubelet was lost is gone");
        } else if period == Period::Calm {
            info!(
                zone,
                lost, total, kept_pods, "The share of lost kubelets is too low to keep the readiness of pods"
            );
        } else {
            info!(
                zone,
                lost,
                total,
                kept_pods,
                "Kubelets are back; pods that none reports on keep their readiness for a while"
            );
        }
    }
}

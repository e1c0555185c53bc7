//! One process behind a proxy, restarted whenever it ends.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use scripted_api::balancer::{NewConnections, Proxy};
use tests::cluster::Cluster;
use tests::manager::{Kind, Manager, ManagerOptions};

use crate::fault::Action;

/// The time after which a process that has ended is started again.
const RESTART: Duration = Duration::from_secs(1);

/// A replica of a program.
pub(crate) struct Replica {
    kind: Kind,
    proxy: Proxy,
    options: ManagerOptions,
    manager: Option<Manager>,
    start_at: Instant,
    /// The number of its processes that ended, by their status.
    pub(crate) ends: BTreeMap<String, usize>,
}

impl Replica {
    /// Not yet running; the proxy leads to the cluster's API server.
    pub(crate) async fn new(kind: Kind, cluster: &Cluster, options: &ManagerOptions) -> Self {
        let proxy = Proxy::start(cluster.apiserver_address()).await;
        let kubeconfig = Some(cluster.kubeconfig_at(options.user, proxy.address()));
        let options = ManagerOptions { kubeconfig, ..options.clone() };
        Self { kind, proxy, options, manager: None, start_at: Instant::now(), ends: BTreeMap::new() }
    }

    /// Starts the process if there is none. Called all the time.
    pub(crate) fn supervise(&mut self, cluster: &Cluster) {
        if let Some(status) = self.manager.as_mut().and_then(|manager| manager.process().exited()) {
            *self.ends.entry(status.to_string()).or_default() += 1;
            self.manager = None;
            self.start_at = Instant::now() + RESTART;
        }
        if self.manager.is_none() && self.start_at <= Instant::now() {
            self.manager = Some(Manager::launch(self.kind, cluster, &self.options));
        }
    }

    /// Does what concerns this replica.
    pub(crate) fn apply(&mut self, action: Action) {
        match action {
            Action::Cut(_, ending) => self.proxy.cut(ending),
            Action::Stall(_, stalled) => self.proxy.stall(stalled),
            Action::Swallow(_) => self.proxy.blackhole(NewConnections::Swallowed),
            Action::Forward(_) => self.proxy.forward_new_connections(),
            Action::Idle(_, Some(idle)) => self.proxy.close_idle_after(idle),
            Action::Idle(_, None) => self.proxy.keep_idle(),
            Action::Signal(_, signal) => {
                if let Some(manager) = &mut self.manager {
                    manager.process().signal(signal);
                }
            }
            _ => {}
        }
    }

    /// The resident memory of its process, in bytes; 0 if there is none.
    pub(crate) fn memory(&self) -> u64 {
        let usage = self.manager.as_ref().and_then(Manager::usage_if_running);
        usage.map_or(0, |usage| usage.rss)
    }
}

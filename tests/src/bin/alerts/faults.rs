//! The faults, and the alerts that each must raise.

use std::collections::BTreeSet;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use endpointslice::well_known::ENDPOINT_CONTROLLER_NAME;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::discovery::v1::EndpointSlice;
use k8s_openapi::api::rbac::v1::RoleBinding;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::{Api, ResourceExt as _};
use serde_json::{Value, json};
use tests::cluster::User;
use tokio::time::sleep;

use crate::replicas::Replica;
use crate::rules::FASTER;
use crate::stage::Stage;
use crate::{dashboard, runbooks};

/// The beginning of all names.
const PREFIX: &str = "EndpointControllerManager";

/// The alerts that no fault here raises: no kubelets are there to be lost, an API server stores nothing that this program cannot
/// read, no certificate ends within a week, and too few lines are logged to fill the buffer of a log that is not read.
const NOT_RAISED: [&str; 4] = [
    "EndpointControllerManagerKubeletsLost",
    "EndpointControllerManagerUnreadableObjects",
    "EndpointControllerManagerClientCertificateExpiration",
    "EndpointControllerManagerLogLinesDropped",
];

/// Closes the gate if a change waits.
const GATE: &str = "--takeover-max-writes=0";

/// One write, and the next ones after 30 s each.
const SLOW: [&str; 2] = ["--kube-api-qps=0.0333", "--kube-api-burst=1"];

const LEASE: &str = "endpoint-controller-manager";
const HOLD: &str = "endpoint-controller-manager/hold";
const HOLD_RELEASED: &str = "endpoint-controller-manager/hold-released";

/// The stage, and the alerts that have fired.
struct Show {
    stage: Stage,
    fired: BTreeSet<String>,
    blocks: usize,
}

/// Sets the stage, and does one fault after the other.
pub(crate) async fn run() -> ExitCode {
    let start = Instant::now();
    let mut show = Show { stage: Stage::set().await, fired: BTreeSet::new(), blocks: 0 };
    println!("`for` is divided by {FASTER}; scrapes and evaluations are every second\n");
    let queries = dashboard::check(&mut show.stage).await;
    println!("{queries} queries of the dashboard return series");
    show.at_rest().await;
    show.blocks += runbooks::run(&show.stage, "README").await;
    println!("no alert at rest\n\n{:12}{:23}fault", "fires after", "alert");
    show.shadow_has_other_flags().await;
    show.permissions_are_withdrawn().await;
    show.another_client_writes().await;
    show.api_server_restarts().await;
    show.leaders_are_killed().await;
    show.lease_is_forbidden().await;
    show.takeover_gate_is_closed().await;
    show.rate_is_low().await;
    show.lease_is_held().await;
    show.one_replica_ends().await;
    show.all_replicas_end().await;
    let missing: Vec<&String> =
        show.stage.alerts.names.iter().filter(|name| !show.fired.contains(*name)).collect();
    assert_eq!(missing, NOT_RAISED, "never fired");
    for name in NOT_RAISED {
        show.blocks += runbooks::run(&show.stage, name).await;
    }
    println!(
        "\nall {} alerts fired, and {} blocks of commands ran, in {} s",
        show.fired.len(),
        show.blocks,
        start.elapsed().as_secs()
    );
    ExitCode::SUCCESS
}

impl Show {
    /// Checks that no alert is pending or firing.
    async fn at_rest(&mut self) {
        self.stage
            .until("no alert at rest", async |stage| {
                let alerts = stage.prometheus.alerts().await?;
                if alerts.is_empty() { Ok(()) } else { Err(format!("{alerts:?}")) }
            })
            .await;
    }

    /// Checks that these alerts don't fire yet; to be called before their fault.
    async fn silent(&self, alerts: &[&str]) {
        let states = self.stage.prometheus.alerts().await.expect("alerts");
        for alert in alerts {
            let state = states.get(&format!("{PREFIX}{alert}"));
            assert!(state.is_none_or(|state| state != "firing"), "{alert} fires before its fault");
        }
    }

    /// Waits until these alerts fire, and runs their runbooks meanwhile.
    async fn fire(&mut self, fault: &str, alerts: &[&str]) {
        let start = Instant::now();
        for alert in alerts {
            let name = format!("{PREFIX}{alert}");
            self.stage
                .until(&name, async |stage| {
                    let states = stage.prometheus.alerts().await?;
                    if states.get(&name).is_some_and(|state| state == "firing") {
                        Ok(())
                    } else {
                        Err(format!("only {states:?}"))
                    }
                })
                .await;
            println!("{:9.1} s {alert:23}{fault}", start.elapsed().as_secs_f64());
            self.fired.insert(name);
        }
        for alert in alerts {
            self.blocks += runbooks::run(&self.stage, &format!("{PREFIX}{alert}")).await;
        }
    }

    /// It would delete the slices of a Service with the label.
    async fn shadow_has_other_flags(&mut self) {
        self.silent(&["ShadowDifferences"]).await;
        let label = |value: Value| json!({"metadata": {"labels": {ENDPOINT_CONTROLLER_NAME: value}}});
        self.stage.world.change_service("web", label("another-controller".into())).await;
        self.stage.shadow.supervise();
        self.fire("a shadow has another feature gate", &["ShadowDifferences"]).await;
        self.stage.shadow.kill();
        self.stage.world.change_service("web", label(Value::Null)).await;
    }

    /// Writes, lists and new watches are refused. A pod changes, and the standby starts anew.
    async fn permissions_are_withdrawn(&mut self) {
        let alerts = ["WriteForbidden", "NotReady", "SyncErrors", "ListWatchFailing", "ChangeUnwritten"];
        self.silent(&alerts).await;
        let standby = 1 - self.stage.leader().await.expect("a leader");
        self.stage.cluster.withdraw_roles(User::EndpointControllers).await;
        self.stage.world.ready("web-0", false).await;
        self.stage.replicas[standby].kill();
        self.fire("its roles are withdrawn", &alerts).await;
        self.stage.cluster.grant_roles(User::EndpointControllers).await;
        self.stage
            .until("everything is written", async |stage| {
                stage.shows("max(oldest_unwritten_change_age_seconds) == 0").await?;
                stage.shows("min(kubernetes_healthcheck{type=\"readyz\"}) == 1").await
            })
            .await;
    }

    /// Once a second: a single write is not a reason for an alert.
    async fn another_client_writes(&mut self) {
        self.silent(&["ForeignWrites"]).await;
        let slices = self.stage.world.slices_of("web", "IPv4").await.expect("slices");
        let writer = tokio::spawn(annotate(self.stage.world.slices().clone(), slices[0].name_any()));
        self.fire("another client edits a slice again and again", &["ForeignWrites"]).await;
        writer.abort();
    }

    /// After a restart its memory of changes begins later than the last one of nodes.
    async fn api_server_restarts(&mut self) {
        self.silent(&["ListWatchGap"]).await;
        self.stage.cluster.stop_apiserver();
        self.stage.cluster.start_apiserver().await;
        self.fire("the API server restarts", &["ListWatchGap"]).await;
    }

    async fn leaders_are_killed(&mut self) {
        self.silent(&["LeadershipLost"]).await;
        for _ in 0..2 {
            self.stage.until("a leader", async |stage| stage.leader().await.map(drop)).await;
            let leader = self.stage.leader().await.expect("a leader");
            self.stage.replicas[leader].kill();
            // Until the other one leads: restarted, it might win the Lease again.
            self.stage.supervises = false;
            let took_over = format!("the successor of replica {leader}");
            self.stage
                .until(&took_over, async |stage| {
                    if stage.leader().await? == leader { Err("still the same".to_owned()) } else { Ok(()) }
                })
                .await;
            self.stage.supervises = true;
        }
        self.fire("two leaders are killed", &["LeadershipLost"]).await;
    }

    async fn lease_is_forbidden(&mut self) {
        self.silent(&["NoLeader"]).await;
        let bindings: Api<RoleBinding> = Api::namespaced(self.stage.cluster.client(), "kube-system");
        let all = bindings.list(&ListParams::default()).await.expect("the bindings").items;
        let is_ours = |binding: &RoleBinding| binding.role_ref.name.contains("leader-election");
        let mut binding = all.into_iter().find(is_ours).expect("the binding of the Lease's role");
        bindings.delete(&binding.name_any(), &DeleteParams::default()).await.expect("deleting a binding");
        self.fire("no replica may write the Lease", &["NoLeader"]).await;
        binding.metadata.resource_version = None;
        bindings.create(&PostParams::default(), &binding).await.expect("creating a binding");
        self.stage.until("a leader", async |stage| stage.leader().await.map(drop)).await;
    }

    /// A change waits while no replica runs, so that the next leader has something to write first.
    async fn takeover_gate_is_closed(&mut self) {
        self.silent(&["ControllersNotRunning"]).await;
        self.end_replicas(|replica| replica.toggle(GATE));
        self.stage.world.ready("web-0", true).await;
        self.fire("a leader may not begin to write", &["ControllersNotRunning"]).await;
        self.end_replicas(|replica| replica.toggle(GATE));
        self.controllers_run().await;
    }

    /// Two endpoints are withdrawn, one after the other: the second write has its token after half a minute.
    async fn rate_is_low(&mut self) {
        self.silent(&["WithdrawalsWait"]).await;
        let toggle = |replica: &mut Replica| SLOW.into_iter().for_each(|flag| replica.toggle(flag));
        self.end_replicas(toggle);
        self.controllers_run().await;
        self.stage.world.ready("web-0", false).await;
        self.stage.world.expect("web", "IPv4", 3, 2).await;
        self.stage.world.ready("web-1", false).await;
        self.fire("the rate limit is low", &["WithdrawalsWait"]).await;
        self.end_replicas(toggle);
        self.controllers_run().await;
    }

    async fn controllers_run(&mut self) {
        self.stage
            .until("controllers that run", async |stage| {
                stage.shows("max(running_managed_controllers) == 1").await
            })
            .await;
    }

    /// As `handover` holds and releases it. `NoLeader` would fire after a second.
    async fn lease_is_held(&mut self) {
        self.silent(&["Held", "NoLeader"]).await;
        self.annotate_lease(json!({HOLD: "alerts", HOLD_RELEASED: null})).await;
        self.end_replicas(|_| {});
        self.fire("the Lease is held", &["Held"]).await;
        self.silent(&["NoLeader", "ControllersNotRunning"]).await;
        self.annotate_lease(json!({HOLD_RELEASED: "alerts"})).await;
        self.stage.until("a leader", async |stage| stage.leader().await.map(drop)).await;
    }

    async fn annotate_lease(&self, annotations: Value) {
        let leases: Api<Lease> = Api::namespaced(self.stage.cluster.client(), "kube-system");
        let change = Patch::Merge(json!({"metadata": {"annotations": annotations}}));
        leases.patch(LEASE, &PatchParams::default(), &change).await.expect("annotating the Lease");
    }

    async fn one_replica_ends(&mut self) {
        self.silent(&["ReplicaMissing"]).await;
        self.stage.supervises = false;
        self.stage.replicas[0].kill();
        self.fire("one replica ends", &["ReplicaMissing"]).await;
    }

    /// Kills the replicas. They start again with what `change` makes of them.
    fn end_replicas(&mut self, change: impl Fn(&mut Replica)) {
        for replica in &mut self.stage.replicas {
            replica.kill();
            change(replica);
        }
    }

    async fn all_replicas_end(&mut self) {
        self.silent(&["Down"]).await;
        self.stage.supervises = false;
        self.end_replicas(|_| {});
        self.fire("both replicas end", &["Down"]).await;
    }
}

/// Changes a slice once a second, for ever.
async fn annotate(slices: Api<EndpointSlice>, name: String) {
    let by = PatchParams { field_manager: Some("another".to_owned()), ..PatchParams::default() };
    for number in 0_u64.. {
        let change = Patch::Merge(json!({"metadata": {"annotations": {"another": number.to_string()}}}));
        // It may be gone for a moment; only some writes have to succeed.
        let _ = slices.patch(&name, &by, &change).await;
        sleep(Duration::from_secs(1)).await;
    }
}

//! Instructions for the operator: what cannot be done through the API. Pure.

use super::distribution::Distribution;
use super::facts::{Facts, Form, Goal, Replica};
use super::own_flags::names;

/// The names in instructions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Settings {
    /// The Lease of ours, as `namespace/name`.
    pub(super) lease: String,
    /// The Deployment of ours, as `namespace/name`.
    pub(super) deployment: String,
    /// `kubectl`, with the flags for the cluster of the migration.
    pub(super) kubectl: String,
}

/// The host of the process that holds the Lease of kube-controller-manager.
fn host(facts: &Facts) -> &str {
    let holder = facts.built_in.as_ref().map_or("", |lease| lease.holder.as_str());
    holder.split('_').next().unwrap_or_default()
}

/// A line about what the cluster shows of kube-controller-manager.
pub(super) fn seen(facts: &Facts) -> String {
    let holder = facts.built_in.as_ref().map_or("no process", |lease| lease.holder.as_str());
    if facts.has_pods() {
        let nodes = facts.replicas.iter().map(|replica| &replica.node).chain(&facts.absent);
        let nodes: Vec<&str> = nodes.map(String::as_str).collect();
        return format!("kube-controller-manager: pods on {}; {holder} holds its Lease", nodes.join(", "));
    }
    format!(
        "kube-controller-manager: no pods in kube-system have the label component=kube-controller-manager, so that its flags \
         cannot be seen and each change is for you to confirm; {holder} holds its Lease"
    )
}

/// The commands after an interruption, an error or a refusal, whatever was done before.
pub(super) fn ways(goal: Goal) -> &'static str {
    match goal {
        Goal::Handover => "The same command continues; `rollback` goes back",
        Goal::Rollback => "The same command continues; `handover` goes forward again",
    }
}

/// The reason not to begin where nothing of kube-controller-manager can be seen or changed.
pub(super) fn is_out_of_sight(facts: &Facts) -> String {
    let holder = facts.built_in.as_ref().map_or("no process holds its Lease", |lease| lease.holder.as_str());
    format!(
        "no kube-controller-manager of this cluster can be seen: no pod in kube-system has the label \
         component=kube-controller-manager, and the holder of its Lease is not a node ({holder}). On EKS, GKE and \
         AKS its --controllers cannot be changed, so nothing is started \
         (docs/operate/adopting.md#managed-clusters). Where its flags are yours, run endpoint-controller-manager \
         as a process as well, and say so: --ours=processes"
    )
}

pub(super) fn leads_already(facts: &Facts, settings: &Settings) -> String {
    let holder = facts.lease.as_ref().map_or("", |lease| lease.holder.as_str());
    format!(
        "{holder} holds the Lease {} while kube-controller-manager runs {}: both write. Stop endpoint-controller-manager \
         (`rollback` does), then try again",
        settings.lease,
        names(&facts.controllers)
    )
}

pub(super) fn flags_differ(reason: &str) -> String {
    format!("the flags of endpoint-controller-manager are not those of this command: {reason}")
}

pub(super) fn flags_are_unknown(facts: &Facts, settings: &Settings, reason: &str) -> String {
    format!(
        "The flags of endpoint-controller-manager cannot be seen: {reason}. See that every process of it runs with\n\n  \
         --controllers={} --leader-elect=true\n\nand contends for the Lease {}. Otherwise two programs write.",
        names(&facts.controllers).replace(' ', ""),
        settings.lease
    )
}

pub(super) fn apply_deployment(settings: &Settings) -> String {
    format!(
        "Create the Deployment {}; its replicas wait for the Lease, which is held:\n\n  {} apply -k \
         deploy/base\n\nor install the chart with lease.hold=true (deploy/chart/README.md)",
        settings.deployment, settings.kubectl
    )
}

pub(super) fn start_static_pods() -> String {
    "On each control-plane node, start endpoint-controller-manager, which waits for the Lease: deploy/overlays/static-pod"
        .to_owned()
}

pub(super) fn stop_static_pods(facts: &Facts) -> String {
    format!(
        "Stop endpoint-controller-manager on each control-plane node ({}): move its manifest away",
        facts.ours.pods.join(", ")
    )
}

pub(super) fn start_processes(facts: &Facts, settings: &Settings) -> String {
    format!(
        "Start all processes of endpoint-controller-manager, with --leader-elect=true and --controllers={}. They wait for the \
         Lease {}; /readyz says when their caches are filled.",
        names(&facts.controllers).replace(' ', ""),
        settings.lease
    )
}

pub(super) fn stop_processes() -> String {
    "Stop all processes of endpoint-controller-manager with SIGTERM, and see that they have ended.".to_owned()
}

/// The change of the flag where the pods do not show it, in all standbys.
pub(super) fn change_standbys(facts: &Facts, on: bool) -> String {
    let place = format!("On every control-plane node except {}", host(facts));
    change_unseen(facts, &place, on)
}

/// The same in the leader.
pub(super) fn change_leader(facts: &Facts, on: bool) -> String {
    let at_once = if on { "At once: until then, no program writes.\n" } else { "" };
    change_unseen(facts, &format!("{at_once}On {}, whose kube-controller-manager leads", host(facts)), on)
}

/// The same once more, because the operator confirmed it, and the leader has not ended.
pub(super) fn leader_stays(facts: &Facts, on: bool) -> String {
    let holder = facts.built_in_leader();
    format!("{holder} still holds the Lease of kube-controller-manager.\n{}", change_leader(facts, on))
}

/// The same in a replica.
pub(super) fn change_replica(facts: &Facts, replica: &Replica, on: bool) -> String {
    let role = if is_leader(facts, replica) { "the leader" } else { "a standby" };
    let place = format!("On node {}, whose kube-controller-manager is {role}", replica.node);
    // Its files add to the list of the release.
    if facts.distribution == Some(Distribution::Rke2) {
        return change_unseen(facts, &place, on);
    }
    let entries = replica.entries.with(&facts.controllers, on);
    let entries =
        if facts.distribution == Some(Distribution::Kubeadm) { entries.for_kubeadm() } else { entries };
    let edit = format!("set\n\n  --controllers={}\n\nand restart it", entries.text());
    change(facts, &place, on, &edit)
}

fn change_unseen(facts: &Facts, place: &str, on: bool) -> String {
    let entries = facts.controllers.iter().map(|controller| controller.name());
    let entries = entries.fold(String::new(), |list, name| list + ",-" + name);
    let edit = if on {
        format!(
            "remove\n\n  {entries}\n\nfrom --controllers, and restart it, even if nothing is to be removed"
        )
    } else {
        format!(
            "append\n\n  {entries}\n\nto --controllers (default *), without entries that name them otherwise, and restart it"
        )
    };
    change(facts, place, on, &edit)
}

fn change(facts: &Facts, place: &str, on: bool, edit: &str) -> String {
    let verb = if on { "enable" } else { "disable" };
    let page = facts.distribution.unwrap_or(Distribution::Other).page(on);
    format!("{place}: {verb} {}. As {page} says, {edit}.", names(&facts.controllers))
}

/// The reason not to go on with a form in which ours does not run.
pub(super) fn are_static_pods(facts: &Facts) -> String {
    format!(
        "endpoint-controller-manager runs as static pods ({}), and not as a Deployment: --ours=static-pods",
        facts.ours.pods.join(", ")
    )
}

/// The reason not to begin a rollback in which ours cannot be stopped.
pub(super) fn has_no_deployment(facts: &Facts, settings: &Settings) -> String {
    let holder = facts.lease.as_ref().map_or("", |lease| lease.holder.as_str());
    format!(
        "{holder} holds the Lease {}, and there is no Deployment {} to stop: name another by --deployment, or another form by \
         --ours",
        settings.lease, settings.deployment
    )
}

/// The writes that the new leader waits to make.
pub(super) fn approve(settings: &Settings, held: &str) -> String {
    let (namespace, name) = settings.lease.split_once('/').unwrap_or_default();
    let kubectl = &settings.kubectl;
    format!(
        "No program writes: endpoint-controller-manager leads and waits, because {held}\n\nIf these writes are right, as those of \
         pods that changed meanwhile, approve them:\n\n  {kubectl} -n {namespace} annotate lease {name} --overwrite \
         endpoint-controller-manager/takeover-approved=\"$({kubectl} -n {namespace} get lease {name} -o \
         jsonpath='{{.spec.holderIdentity}}')\"\n\nOtherwise go back with `rollback`."
    )
}

/// The last line of a migration: what is left to do.
pub(super) fn after(goal: Goal, facts: &Facts, settings: &Settings) -> String {
    let source = match facts.distribution {
        Some(Distribution::Kubeadm) => {
            "kubeadm-config, which the next upgrade uses (`preflight` compares it)"
        }
        _ => "what makes the manifests of kube-controller-manager",
    };
    match goal {
        Goal::Handover => {
            let unseen = if facts.gate.is_none() {
                ", and events may not be listed: whether it waits for an approval (--takeover-max-writes) is not known"
            } else {
                ""
            };
            format!(
                "endpoint-controller-manager leads{unseen}. See that the built-in controllers are disabled in {source} too: \
                 deploy/disable-built-ins/README.md\n"
            )
        }
        Goal::Rollback => {
            let kubectl = &settings.kubectl;
            let remove = match facts.ours.form {
                Form::Deployment => {
                    format!(
                        "{kubectl} delete -k deploy/base (or helm uninstall), which deletes the Lease too"
                    )
                }
                Form::StaticPods => format!(
                    "{kubectl} delete -k deploy/overlays/static-pod, which deletes the Lease too, and on each node remove \
                     /etc/kubernetes/endpoint-controller-manager, the manifest that was moved away and the cron job"
                ),
                Form::Processes => "delete the Lease, its roles and its credentials".to_owned(),
            };
            format!(
                "kube-controller-manager leads with the controllers. See that they are enabled in {source} too. The Lease of \
                 endpoint-controller-manager stays on hold; once nothing can start it again: {remove}\n"
            )
        }
    }
}

/// The replicas whose flags are to change, the leader last.
pub(super) fn due(facts: &Facts, on: bool) -> Vec<&Replica> {
    let differs = |replica: &&Replica| if on { !facts.runs_all(replica) } else { facts.runs_any(replica) };
    let mut replicas: Vec<&Replica> = facts.replicas.iter().filter(differs).collect();
    replicas.sort_by_key(|replica| is_leader(facts, replica));
    replicas
}

fn is_leader(facts: &Facts, replica: &Replica) -> bool {
    facts.leader().is_some_and(|leader| leader.node == replica.node)
}

//! Instructions for the operator: what cannot be done through the API. Pure.

use super::facts::{Facts, Replica};
use super::flag_value::Form;
use super::settings::Settings;

fn names(facts: &Facts) -> String {
    facts.controllers.iter().map(|controller| controller.name()).collect::<Vec<_>>().join(", ")
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
         cannot be seen and each change is for you to confirm; {holder} holds its Lease. A managed control plane (EKS, GKE, AKS) \
         lets you change no flag: there is no handover there (docs/adopting.md)"
    )
}

pub(super) fn leads_already(facts: &Facts, settings: &Settings) -> String {
    let holder = facts.lease.as_ref().map_or("", |lease| lease.holder.as_str());
    format!(
        "{holder} holds the Lease {} while kube-controller-manager runs {}: both write. Stop endpoint-controller-manager \
         (`rollback` does), then try again",
        settings.lease,
        names(facts)
    )
}

pub(super) fn selects_others(facts: &Facts) -> String {
    let list = |names: Vec<&str>| names.join(", ");
    let of = |set: &[crate::controllers::Controller]| {
        list(set.iter().map(|controller| controller.name()).collect())
    };
    format!(
        "--controllers of endpoint-controller-manager selects {}, and {} are to change hands: make them equal, by its flag or \
         by --controllers of this command",
        of(facts.ours.selected.as_deref().unwrap_or_default()),
        of(&facts.controllers)
    )
}

pub(super) fn is_unelected() -> String {
    "endpoint-controller-manager runs with --leader-elect=false and would write at once: remove the flag"
        .to_owned()
}

pub(super) fn apply_deployment(settings: &Settings) -> String {
    format!(
        "Create the Deployment {}; its replicas wait for the Lease, which is held:\n\n  kubectl apply -k deploy/base",
        settings.deployment
    )
}

pub(super) fn start_static_pods(settings: &Settings) -> String {
    format!(
        "On each control-plane node, start endpoint-controller-manager, which waits for the Lease:\n\n  \
         cp endpoint-controller-manager.yaml {}",
        settings.own_manifest
    )
}

pub(super) fn stop_static_pods(facts: &Facts, settings: &Settings) -> String {
    format!(
        "Stop endpoint-controller-manager on each control-plane node ({}):\n\n  mv {} \"$HOME\"",
        facts.ours.pods.join(", "),
        settings.own_manifest
    )
}

pub(super) fn start_processes() -> String {
    "Start all processes of endpoint-controller-manager, with --leader-elect=true. They wait for the Lease; /readyz says \
     when their caches are filled."
        .to_owned()
}

pub(super) fn stop_processes() -> String {
    "Stop all processes of endpoint-controller-manager with SIGTERM, and see that they have ended.".to_owned()
}

fn list_without(facts: &Facts) -> String {
    let entries = facts.controllers.iter().map(|controller| controller.name());
    entries.fold(String::new(), |list, name| list + ",-" + name)
}

pub(super) fn disable_standbys(facts: &Facts) -> String {
    format!(
        "On every control-plane node except {}: append\n\n  {}\n\nto the value of --controllers of kube-controller-manager \
         (default *; deploy/disable-built-ins/README.md has k3s, RKE2 and Talos), and restart it. Remove entries that name \
         them without -: the first entry that matches counts.",
        host(facts),
        list_without(facts)
    )
}

pub(super) fn disable_leader(facts: &Facts) -> String {
    format!(
        "On {}, whose kube-controller-manager leads: append\n\n  {}\n\nto --controllers, and restart it.",
        host(facts),
        list_without(facts)
    )
}

pub(super) fn enable_standbys(facts: &Facts) -> String {
    format!(
        "On every control-plane node except {}: remove\n\n  {}\n\nfrom the value of --controllers of \
         kube-controller-manager, and restart it, even if nothing is to be removed. Standbys run no controllers, so that \
         nothing else happens.",
        host(facts),
        list_without(facts)
    )
}

pub(super) fn enable_leader(facts: &Facts) -> String {
    format!(
        "At once, on {}, whose kube-controller-manager leads: remove\n\n  {}\n\nfrom --controllers, and restart it, \
         even if nothing is to be removed. Until then, no program writes.",
        host(facts),
        list_without(facts)
    )
}

/// The replicas whose flags are to change, the leader last.
pub(super) fn due(facts: &Facts, on: bool) -> Vec<&Replica> {
    let differs = |replica: &&Replica| {
        if on {
            !replica.flag.runs_all(&facts.controllers)
        } else {
            replica.flag.runs_any(&facts.controllers)
        }
    };
    let mut replicas: Vec<&Replica> = facts.replicas.iter().filter(differs).collect();
    replicas.sort_by_key(|replica| is_leader(facts, replica));
    replicas
}

fn is_leader(facts: &Facts, replica: &Replica) -> bool {
    facts.leader().is_some_and(|leader| leader.node == replica.node)
}

/// The command that changes `--controllers` in a manifest. The kubelet reads every file of its folder, so that the new text
/// is made elsewhere.
pub(super) fn edit_manifest(facts: &Facts, settings: &Settings, replica: &Replica, on: bool) -> String {
    let value =
        if on { replica.flag.with(&facts.controllers) } else { replica.flag.without(&facts.controllers) };
    let role = if is_leader(facts, replica) { "the leader" } else { "a standby" };
    let node = &replica.node;
    let head = format!("On node {node}, whose kube-controller-manager is {role}:");
    let file = &settings.manifest;
    let is_plain = value.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"*,-".contains(&byte));
    let script = match replica.flag.form {
        Form::Equals if is_plain => format!(r"s|--controllers=[^ \x22]*|--controllers={value}|"),
        Form::Absent if is_plain => {
            format!(r"s|^\( *\)- kube-controller-manager$|&\n\1- --controllers={value}|")
        }
        _ => return format!("{head} set --controllers={value} in\n\n  {file}"),
    };
    format!(
        "{head}\n\n  new=$(mktemp) && sed '{script}' {file} >\"$new\" && cat \"$new\" >{file} && rm \"$new\""
    )
}

//! The controllers that kube-controller-manager runs, by the flags of its pods.

use endpoint_controller_manager::config::Config;
use endpoint_controller_manager::controllers::Controller;

use crate::lease::{State, is_of_node, state};
use crate::preflight::built_ins::Entries;
use crate::preflight::check::{Judged, counted, failed, ok, warning};
use crate::preflight::facts::{Facts, ManagerPod};

const DISABLE: &str = "Disable them in every kube-controller-manager: deploy/disable-built-ins/README.md";

/// Compares the controllers that kube-controller-manager runs with those of endpoint-controller-manager; `before_release`
/// if the latter is about to get its Lease.
pub(super) fn built_ins<'a>(facts: &'a Facts, config: &Config, before_release: bool) -> Judged<'a> {
    let pods = facts.managers.as_ref()?;
    if pods.is_empty() {
        return warning(
            "No pod in kube-system has the label component=kube-controller-manager: its flags cannot be read",
            "Look at its command line by hand (ps, or the journal of k3s). Where the provider runs it, its controllers \
             cannot be disabled",
        );
    }
    let own = state(facts.own_lease.as_ref()?.as_ref());
    let running = |controller: &Controller| -> Vec<&str> {
        let runs = |pod: &&ManagerPod| Entries::of_words(&pod.words).run(*controller);
        pods.iter().filter(runs).map(|pod| pod.name.as_str()).collect()
    };
    let by_controller: Vec<(&str, Vec<&str>)> =
        config.controllers.iter().map(|controller| (controller.name(), running(controller))).collect();
    let on: Vec<&str> = by_controller.iter().filter(|(_, pods)| !pods.is_empty()).map(|it| it.0).collect();
    let differs: Vec<&str> = by_controller
        .iter()
        .filter(|(_, running)| !running.is_empty() && running.len() < pods.len())
        .map(|it| it.0)
        .collect();
    match own {
        State::Held(holder) if !on.is_empty() => {
            both_write(holder, &on.join(", "), !before_release && leader_runs_none(facts, pods, config))
        }
        _ if before_release && !on.is_empty() => still_runs(&on),
        State::Held(_) => {
            ok("kube-controller-manager runs none of the controllers that endpoint-controller-manager runs")
        }
        _ if !differs.is_empty() => warning(
            format!("The pods of kube-controller-manager differ: only some run {}", differs.join(", ")),
            "Finish the migration, or roll back: the next leader decides",
        ),
        State::Hold if on.is_empty() => warning(
            "No program writes: kube-controller-manager runs none of the controllers, and the hold is in place",
            "Release the Lease: it is the next step of the migration",
        ),
        _ if on.len() < by_controller.len() => failed(
            format!(
                "No program writes for some: of the controllers that endpoint-controller-manager runs, \
                 kube-controller-manager runs {}, and endpoint-controller-manager does not lead",
                if on.is_empty() { "none".to_owned() } else { format!("only {}", on.join(", ")) }
            ),
            "Start endpoint-controller-manager, or enable the controllers in kube-controller-manager again",
        ),
        _ => ok(format!("kube-controller-manager runs {} ({})", on.join(", "), counted(pods.len(), "pod"))),
    }
}

/// `is_standby` if only kube-controller-managers that do not lead run these controllers.
fn both_write(holder: &str, on: &str, is_standby: bool) -> Judged<'static> {
    if is_standby {
        return warning(
            format!(
                "{holder} leads, and standbys of kube-controller-manager run {on}: two programs write once one of them leads"
            ),
            "Finish the migration, or the rollback",
        );
    }
    failed(
        format!("Two programs write: kube-controller-manager runs {on}, and {holder} leads"),
        format!(
            "{DISABLE}. If endpoint-controller-manager runs fewer controllers, give its --controllers here"
        ),
    )
}

/// True if the kube-controller-manager that leads is known, and runs none of the controllers.
fn leader_runs_none(facts: &Facts, pods: &[ManagerPod], config: &Config) -> bool {
    let Ok(lease) = &facts.upstream_lease else { return false };
    let State::Held(holder) = state(lease.as_ref()) else { return false };
    let leader = pods.iter().find(|pod| is_of_node(holder, &pod.node));
    leader.is_some_and(|pod| {
        let entries = Entries::of_words(&pod.words);
        !config.controllers.iter().any(|controller| entries.run(*controller))
    })
}

fn still_runs(on: &[&str]) -> Judged<'static> {
    let message = format!(
        "kube-controller-manager runs {}: two programs write once the Lease is released",
        on.join(", ")
    );
    failed(message, DISABLE)
}

/// Finds lists of controllers without those that kubeadm needs.
pub(super) fn kubeadm(facts: &Facts) -> Judged<'_> {
    let Some(configuration) = facts.kubeadm.as_ref()? else { return ok("Not a cluster of kubeadm") };
    let of_pods = facts.managers.iter().flatten();
    let of_pods = of_pods.map(|pod| (format!("the pod {}", pod.name), Entries::of_words(&pod.words)));
    let stored = Entries::of_kubeadm(configuration);
    let stored = stored.map(|entries| ("the ConfigMap kubeadm-config".to_owned(), entries));
    let wrong: Vec<String> = of_pods
        .chain(stored)
        .filter(|(_, entries)| !entries.lacking().is_empty())
        .map(|(place, entries)| {
            format!(
                "{place} has --controllers={}, without {}",
                entries.text(),
                entries.lacking().join(" and ")
            )
        })
        .collect();
    if !wrong.is_empty() {
        return failed(
            format!("No node can join with kubeadm: {}", wrong.join("; ")),
            "Write '*,bootstrapsigner,tokencleaner,-…', as in deploy/disable-built-ins/kubeadm.yaml",
        );
    }
    let pods = facts.managers.as_ref()?;
    // Without the flag, kubeadm writes its own list, which has all controllers.
    let stored = Entries::of_kubeadm(configuration).unwrap_or_else(|| Entries::of_words(&[]));
    let differs = |controller: &Controller| {
        pods.iter().any(|pod| Entries::of_words(&pod.words).run(*controller) != stored.run(*controller))
    };
    let differing: Vec<&str> =
        Controller::ALL.iter().filter(|it| differs(it)).map(|controller| controller.name()).collect();
    if !differing.is_empty() {
        return warning(
            format!(
                "kubeadm-config and the pods of kube-controller-manager differ in {}: the next kubeadm upgrade, or control-plane \
                 node that joins, changes which program writes",
                differing.join(", ")
            ),
            "Write to kubeadm-config what the pods have: deploy/disable-built-ins/README.md#kubeadm",
        );
    }
    ok("kube-controller-manager keeps bootstrapsigner and tokencleaner, which kubeadm needs")
}

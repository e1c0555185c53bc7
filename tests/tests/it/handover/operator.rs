//! The operator: runs the command, does what it prints, and may kill it at each step.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use tests::binaries;
use tests::cluster::{Cluster, User};
use tests::dialogue::Dialogue;
use tests::scenario::World;
use tests::wait::LIMIT;

use super::nodes::{CONTROLLERS, ControlPlaneNode};
use super::ours::Ours;

/// The exit code of a command that has waited long for a step: the same command continues.
const TOO_LONG: i32 = 5;

/// What changes in the cluster without the command.
pub(crate) struct Site<'a> {
    pub(crate) cluster: &'a Cluster,
    pub(crate) nodes: Vec<ControlPlaneNode>,
    pub(crate) ours: Ours,
    /// The operator restarts processes, and forgets their flags: then each leader handles the changes of this workload.
    pub(crate) forgets: Option<&'a World>,
}

impl Site<'_> {
    /// Lets kubelets and controllers do what is due.
    pub(crate) async fn tick(&mut self) {
        for node in &mut self.nodes {
            node.tick(self.cluster).await;
        }
        self.ours.tick(self.cluster).await;
    }

    /// Runs `handover` or `rollback` to its end; with `kills`, kills it at the first sight of each line about a step, and
    /// runs it again. Returns what its last run printed.
    pub(crate) async fn run(&mut self, goal: &str, kills: bool, words: &[&str]) -> String {
        let mut seen = BTreeSet::new();
        let start = Instant::now();
        loop {
            let mut args = vec![
                goal.to_owned(),
                "--yes".to_owned(),
                format!("--kubeconfig={}", self.cluster.kubeconfig(User::Admin).display()),
            ];
            args.extend(words.iter().map(ToString::to_string));
            let program = binaries::kubectl_endpoints();
            let mut command = Dialogue::start(&program, self.cluster.folder(), &args);
            if self.follow(goal, &mut command, &mut seen, kills, start).await {
                return command.text().to_owned();
            }
        }
    }

    /// Returns false if it was killed, or is to be continued.
    async fn follow(
        &mut self,
        goal: &str,
        command: &mut Dialogue,
        seen: &mut BTreeSet<String>,
        kills: bool,
        start: Instant,
    ) -> bool {
        let mut place = Place::None;
        loop {
            let ended = command.exited();
            while let Some(line) = command.line() {
                if line.contains("step ") && seen.insert(line.clone()) && kills && ended.is_none() {
                    command.kill();
                    return false;
                }
                if line.starts_with("  kubectl ") && line.ends_with(" apply -k deploy/base") {
                    Ours::apply(self.cluster).await;
                } else if let Some(value) = value(&line, goal == "rollback") {
                    self.edit(&place, &value).await;
                    if self.nodes.iter().any(ControlPlaneNode::is_hidden) {
                        command.answer("yes");
                    }
                } else {
                    place = Place::named(&line).unwrap_or(place);
                }
            }
            if let Some(status) = ended {
                if status.code() == Some(TOO_LONG) {
                    return false;
                }
                let expected = if self.forgets.is_some() && goal == "handover" { 3 } else { 0 };
                assert_eq!(status.code(), Some(expected), "{}", command.text());
                return true;
            }
            self.tick().await;
            assert!(start.elapsed() < 3 * LIMIT, "{}", command.text());
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Edits the flags of processes, and waits until they run again.
    async fn edit(&mut self, place: &Place, value: &str) {
        let nodes = self.nodes.iter_mut().filter(|node| place.includes(node.name()));
        let value = if self.forgets.is_some() { CONTROLLERS } else { value };
        nodes.for_each(|node| node.edit(value));
        self.tick().await;
        if let Some(world) = self.forgets {
            // The command waits for a write for 15 s, which a leader that is still starting would miss.
            world.sync().await;
        }
    }
}

/// The value of `--controllers` that a line asks for: all of it, or what is to be appended or removed.
fn value(line: &str, is_on: bool) -> Option<String> {
    let entries = line.strip_prefix("  ")?;
    if let Some(value) = entries.strip_prefix("--controllers=") {
        return (!value.contains(' ')).then(|| value.to_owned());
    }
    let rest = if is_on { "" } else { entries };
    entries.starts_with(",-").then(|| format!("{CONTROLLERS}{rest}"))
}

/// The place that an instruction names.
#[derive(Clone, Debug)]
enum Place {
    None,
    On(String),
    NotOn(String),
}

impl Place {
    fn named(line: &str) -> Option<Self> {
        let host = |rest: &str| rest.split([',', ':']).next().unwrap().to_owned();
        if let Some(rest) = line.strip_prefix("On every control-plane node except ") {
            return Some(Self::NotOn(host(rest)));
        }
        let at = ["On node ", "On "].into_iter().find_map(|start| line.strip_prefix(start))?;
        Some(Self::On(host(at)))
    }

    fn includes(&self, node: &str) -> bool {
        match self {
            Self::None => false,
            Self::On(host) => host == node,
            Self::NotOn(host) => host != node,
        }
    }
}

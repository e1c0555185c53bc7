//! A cluster in seconds: control-plane nodes, both programs, both Leases. It acts as the operator says, and remembers what
//! each process may still do.

use endpoint_controller_manager::controllers::Controller;
use jiff::{SignedDuration, Timestamp};

use crate::gate::Gate;
use crate::handover::facts::{Deployed, Facts, Form, Goal, LeaseFacts, Ours, Record, Replica, STANDBYS};
use crate::handover::instructions::Settings;
use crate::handover::own_flags::OwnFlags;
use crate::handover::rules::{confirmed, silent};
use crate::handover::steps::Write;
use crate::handover::write::{begun, nodes, when_held, when_released};
use crate::preflight::Entries;

/// The events besides.
#[derive(Clone, Copy, Debug)]
pub(super) enum Event {
    None,
    /// Seconds pass.
    Time(u8),
    /// The leader of kube-controller-manager is killed, and starts again.
    BuiltInCrashes,
    /// The leader of ours is killed, and starts again.
    OursCrashes,
}

/// A process, by its identity.
#[derive(Clone, Debug)]
struct Process {
    identity: String,
    /// True if it was started with the controllers, whatever its manifest says now.
    has_controllers: bool,
    started: i64,
}

#[derive(Clone, Debug)]
struct Lease {
    holder: String,
    acquired: i64,
    renewed: i64,
    seconds: i64,
    transitions: i32,
    /// True if a hold is in force.
    is_on_hold: bool,
}

pub(super) struct Model {
    now: i64,
    number: usize,
    is_seen: bool,
    /// The begin of a host's name, before that of its node.
    host: &'static str,
    /// True if kube-controller-manager releases its Lease when it ends.
    releases: bool,
    /// Each with its name, and whether its manifest has the controllers.
    nodes: Vec<(String, bool, Option<Process>)>,
    built_in: Option<Lease>,
    ours: Vec<Process>,
    /// A pod of ours that stays, whatever becomes of its process.
    lost_pod: Option<String>,
    replicas: i32,
    lease: Option<Lease>,
    record: Record,
}

/// The reason why a canary refuses a handover.
pub(super) const WRITES: &str = "kube-controller-manager writes for a canary";
/// Both programs' lease duration.
const SECONDS: i64 = 15;

impl Model {
    pub(super) fn new(nodes: u8, releases: bool, is_seen: bool) -> Self {
        Self::on_hosts("", nodes, releases, is_seen)
    }

    pub(super) fn on_hosts(host: &'static str, nodes: u8, releases: bool, is_seen: bool) -> Self {
        let node = |number: u8| (format!("n{number}"), true, None);
        let mut model = Self {
            now: 1_700_000_000,
            number: 0,
            is_seen,
            host,
            releases,
            nodes: (0..nodes).map(node).collect(),
            built_in: None,
            ours: Vec::new(),
            lost_pod: None,
            replicas: 0,
            lease: None,
            record: Record::default(),
        };
        for _ in 0..5 {
            model.pass(Event::None);
        }
        model
    }

    /// A second of the cluster, after an event.
    pub(super) fn pass(&mut self, event: Event) {
        match event {
            Event::None => {}
            Event::Time(seconds) => (0..seconds).for_each(|_| self.second()),
            Event::BuiltInCrashes => {
                let holder = self.built_in.as_ref().map(|lease| lease.holder.clone()).unwrap_or_default();
                let led =
                    |process: &&mut Option<Process>| process.as_ref().is_some_and(|it| it.identity == holder);
                if let Some(process) = self.nodes.iter_mut().map(|(_, _, process)| process).find(led) {
                    *process = None;
                }
            }
            Event::OursCrashes => {
                let holder = self.lease.as_ref().map(|lease| lease.holder.clone()).unwrap_or_default();
                self.ours.retain(|process| process.identity != holder);
            }
        }
        self.second();
    }

    fn second(&mut self) {
        self.now += 1;
        self.kubelets();
        self.deployment();
        let built_in: Vec<String> = self
            .nodes
            .iter()
            .filter_map(|(_, _, process)| Some(process.as_ref()?.identity.clone()))
            .collect();
        self.built_in = elect(self.built_in.take(), &built_in, self.now);
        let ours: Vec<String> = self.ours.iter().map(|process| process.identity.clone()).collect();
        self.lease = elect(self.lease.take(), &ours, self.now);
    }

    /// A container with other flags than its manifest ends in one second, and the new one starts in the next.
    fn kubelets(&mut self) {
        for index in 0..self.nodes.len() {
            let (name, manifest, process) = &mut self.nodes[index];
            match process.as_ref().map(|process| process.has_controllers == *manifest) {
                Some(true) => {}
                Some(false) => {
                    let ended = process.take().unwrap();
                    release(&mut self.built_in, &ended, self.releases);
                }
                None => {
                    self.number += 1;
                    let identity = format!("{}{name}_{}", self.host, self.number);
                    *process = Some(Process { identity, has_controllers: *manifest, started: self.now });
                }
            }
        }
    }

    fn deployment(&mut self) {
        let wanted = usize::try_from(self.replicas).unwrap();
        while self.ours.len() > wanted {
            let ended = self.ours.pop().unwrap();
            release(&mut self.lease, &ended, true);
        }
        if self.ours.len() < wanted {
            self.number += 1;
            let identity = format!("ours_{}", self.number);
            self.ours.push(Process { identity, has_controllers: true, started: self.now });
        }
    }

    pub(super) fn start_ours(&mut self) {
        self.replicas = 2;
    }

    /// The node of a standby of ours is lost.
    pub(super) fn lose_pod(&mut self) {
        let holder = self.lease.as_ref().map(|lease| lease.holder.clone()).unwrap_or_default();
        let standby = self.ours.iter().position(|process| process.identity != holder).unwrap();
        self.lost_pod = Some(self.ours.remove(standby).identity);
    }

    /// A handover without the command, which keeps the annotation of the Lease.
    pub(super) fn hand_over_by_hand(&mut self) {
        self.set_flags(false);
        self.hold(false);
        self.start_ours();
        self.pass(Event::Time(60));
    }

    /// The rollback without the command.
    pub(super) fn roll_back_by_hand(&mut self) {
        self.replicas = 0;
        self.pass(Event::Time(60));
        self.set_flags(true);
        self.pass(Event::Time(60));
    }

    fn set_flags(&mut self, on: bool) {
        self.nodes.iter_mut().for_each(|(_, manifest, _)| *manifest = on);
    }

    /// True if a process of kube-controller-manager with a controller leads.
    pub(super) fn built_in_writes(&self) -> bool {
        let holder = self.built_in.as_ref().map_or("", |lease| &lease.holder);
        let processes = self.nodes.iter().filter_map(|(_, _, process)| process.as_ref());
        processes.into_iter().any(|it| it.identity == holder && it.has_controllers)
    }

    pub(super) fn ours_writes(&self) -> bool {
        let holder = self.lease.as_ref().map_or("", |lease| &lease.holder);
        self.ours.iter().any(|process| process.identity == holder)
    }

    pub(super) fn both_write(&self) -> bool {
        self.built_in_writes() && self.ours_writes()
    }

    /// Fails if both write.
    pub(super) fn check(&self, goal: Goal) -> Result<(), String> {
        if self.both_write() {
            Err(format!("two writers in {goal:?}: {:?} {:?}", self.nodes, self.lease))
        } else {
            Ok(())
        }
    }

    pub(super) fn settings() -> Settings {
        Settings {
            lease: "kube-system/endpoint-controller-manager".to_owned(),
            deployment: "kube-system/endpoint-controller-manager".to_owned(),
            kubectl: "kubectl".to_owned(),
        }
    }

    pub(super) fn facts(&self) -> Facts {
        let running = self.nodes.iter().filter_map(|(name, _, process)| Some((name, process.as_ref()?)));
        let replicas: Vec<Replica> = running
            .filter(|_| self.is_seen)
            .map(|(name, process)| Replica {
                node: name.clone(),
                entries: entries(process.has_controllers),
                started: Some(time(process.started)),
            })
            .collect();
        let is_shown = |node: &&String| replicas.iter().any(|replica| replica.node == **node);
        let mut facts = Facts {
            controllers: Controller::ALL.to_vec(),
            wants_canary: false,
            distribution: None,
            lease: self.lease.as_ref().map(|lease| self.lease_facts(lease)),
            built_in: self.built_in.as_ref().map(|lease| self.lease_facts(lease)),
            absent: self.record.nodes.iter().filter(|node| !is_shown(node)).cloned().collect(),
            replicas,
            ours: Ours {
                form: Form::Deployment,
                deployment: Some(Deployed {
                    replicas: self.replicas,
                    is_ready: self.ours.len() == usize::try_from(self.replicas).unwrap(),
                }),
                pods: self.ours.iter().map(|it| it.identity.clone()).chain(self.lost_pod.clone()).collect(),
                ready: self.ours.len(),
                writer: "endpoint-controller-manager".to_owned(),
                flags: vec![OwnFlags::Fit],
                first_look: None,
                are_static: false,
            },
            gate: Some(Gate::default()),
            has_led: false,
            record: self.record.clone(),
        };
        facts.wants_canary = facts.is_written_unseen();
        facts
    }

    fn lease_facts(&self, lease: &Lease) -> LeaseFacts {
        LeaseFacts {
            holder: lease.holder.clone(),
            acquired: Some(time(lease.acquired)),
            renewed: Some(time(lease.renewed)),
            live: !lease.holder.is_empty() && self.now - lease.renewed < lease.seconds,
            is_watched: true,
            transitions: lease.transitions,
            is_on_hold: lease.is_on_hold,
        }
    }

    /// Holds our Lease, or releases it: nothing else of it changes.
    fn hold(&mut self, is_on_hold: bool) {
        let new = Lease {
            holder: String::new(),
            acquired: self.now,
            renewed: self.now,
            seconds: 1,
            transitions: 0,
            is_on_hold,
        };
        self.lease.get_or_insert(new).is_on_hold = is_on_hold;
    }

    pub(super) fn write(&mut self, goal: Goal, write: Write) {
        let facts = self.facts();
        match write {
            Write::Hold => {
                self.record = when_held(goal, &facts);
                self.hold(true);
            }
            Write::Release => {
                self.record = when_released(&facts);
                self.hold(false);
            }
            Write::Record => self.record = begun(goal, &facts),
            Write::Scale(replicas) => self.replicas = replicas,
        }
        self.record.nodes = nodes(&facts);
    }

    /// Waits for a write of kube-controller-manager, as a canary does.
    pub(super) fn canary(&mut self) -> Result<(), String> {
        let before = self.facts();
        for _ in 0..=SECONDS {
            self.second();
            if self.built_in_writes() {
                return Err(WRITES.to_owned());
            }
        }
        self.record = silent(&before, &self.facts()).unwrap_or(before.record);
        Ok(())
    }

    /// Does what an instruction says.
    pub(super) fn obey(&mut self, text: &str) {
        let on = text.contains(": enable");
        if let Some((holder, _)) = text.split_once(" still holds ") {
            return self.restart(on, |name| holder.starts_with(&format!("{name}_")));
        }
        let node = text.strip_prefix("On node ").and_then(|rest| rest.split(',').next()).unwrap();
        let (_, manifest, _) = self.nodes.iter_mut().find(|(name, _, _)| name == node).unwrap();
        *manifest = on;
    }

    /// Changes nodes, and restarts their processes, even if nothing is to be changed.
    pub(super) fn restart(&mut self, on: bool, is_due: impl Fn(&str) -> bool) {
        for (name, manifest, process) in &mut self.nodes {
            if is_due(name) {
                if let Some(ended) = process.take() {
                    release(&mut self.built_in, &ended, self.releases);
                }
                *manifest = on;
            }
        }
    }

    /// Changes what cannot be seen, and says so.
    pub(super) fn confirm(&mut self, step: &str, text: &str) {
        let asked = self.facts();
        let holder = self.built_in.as_ref().map(|lease| lease.holder.clone()).unwrap_or_default();
        let host = holder.split('_').next().unwrap();
        self.restart(text.contains(": enable"), |name| step != STANDBYS || name != host);
        // The operator waits for the restart.
        (0..3).for_each(|_| self.second());
        self.answer(&asked, step);
    }

    /// Says that a step is done which was asked for at these facts.
    pub(super) fn answer(&mut self, asked: &Facts, step: &str) {
        self.record = confirmed(asked, &self.facts(), step);
    }
}

/// `--controllers` of kube-controller-manager, as kubeadm has it.
fn entries(has_controllers: bool) -> Entries {
    let all = Controller::ALL.map(|controller| format!(",-{}", controller.name())).concat();
    let without = if has_controllers { "" } else { &all };
    Entries::of_words(&[format!("--controllers=*,bootstrapsigner,tokencleaner{without}")])
}

fn time(second: i64) -> Timestamp {
    Timestamp::UNIX_EPOCH + SignedDuration::from_secs(second)
}

/// One look of all candidates at a Lease: the holder renews; otherwise one of them takes a Lease that is free or expired.
fn elect(lease: Option<Lease>, candidates: &[String], now: i64) -> Option<Lease> {
    let turn = usize::try_from(now).unwrap() % candidates.len().max(1);
    let taken = candidates.get(turn).map(|next| Lease {
        holder: next.clone(),
        acquired: now,
        renewed: now,
        seconds: SECONDS,
        transitions: lease.as_ref().map_or(0, |lease| lease.transitions + 1),
        is_on_hold: false,
    });
    let Some(mut lease) = lease else { return taken };
    if candidates.contains(&lease.holder) {
        lease.renewed = now;
    } else if !lease.is_on_hold && (lease.holder.is_empty() || now - lease.renewed >= lease.seconds) {
        return taken.or(Some(lease));
    }
    Some(lease)
}

fn release(lease: &mut Option<Lease>, ended: &Process, releases: bool) {
    if let Some(lease) = lease.as_mut().filter(|lease| releases && lease.holder == ended.identity) {
        lease.holder.clear();
        lease.seconds = 1;
    }
}

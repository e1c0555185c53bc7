//! The pods of interest of a Service, compared with what they should be.

use std::collections::{BTreeMap, BTreeSet};

use endpointslice::AddressType;
use jiff::Timestamp;

use super::entries::{AddressEntry, Entries, SliceEntry, difference, pod_name, presence};
use super::membership::{MAX_NEAR_MISSES, label_differs, near_misses, not_selected};
use super::network::network_reason;
use super::planned::Planned;
use super::predicted::{Predicted, predict};
use super::subject::{EndpointSource, Subject};
use super::verdict::{self, Others, judge};
use super::{codes, time};
use crate::report::{PodReport, Presence, Reason, Scope, Verdict};
use crate::snapshot::{Kind, NearMiss, PodEntry};

const ZONES_OUTDATED: &str = "slices have zones that nodes had before, and hints by them: kube-controller-manager writes the \
                              present ones with the next change of the Service or its pods";
const CHANGE_SERVICE: &str = "change the Service, for instance by an annotation";

/// The stored and the planned pods of a Service.
pub(super) struct Comparison<'a> {
    subject: &'a Subject<'a>,
    planned: &'a Planned<'a>,
    selected: BTreeMap<&'a str, &'a PodEntry>,
    misses: BTreeMap<String, NearMiss>,
    all_misses: usize,
    /// The slices of every manager, as consumers read them.
    read: Entries<'a, SliceEntry<'a>>,
    /// The pods in slices whose endpoints connections to the Service reach.
    reached: BTreeSet<&'a str>,
    stored: Entries<'a, SliceEntry<'a>>,
    wanted: Entries<'a, SliceEntry<'a>>,
    stored_addresses: Entries<'a, AddressEntry<'a>>,
    wanted_addresses: Entries<'a, AddressEntry<'a>>,
    manages_endpoints: Option<bool>,
    /// The slices differ only in zones of nodes, and in hints that follow from them.
    zones_outdated: bool,
}

impl<'a> Comparison<'a> {
    pub(super) fn new(subject: &'a Subject<'a>, planned: &'a Planned<'a>) -> Self {
        let zones = subject.snapshot.can_read(Kind::Nodes);
        let entries = |zones| {
            let stored = Entries::of_slices(subject.managed_slices(), zones);
            let wanted = Entries::of_slices(planned.slices.iter().map(|slice| &**slice), zones);
            (stored, wanted)
        };
        let (mut stored, mut wanted) = entries(zones);
        // Hints alone differ if the Service has changed, which its controller has to see.
        let zones_outdated = stored != wanted && planned.changes_only_zones(subject);
        if zones_outdated {
            (stored, wanted) = entries(false);
        }
        let (misses, all_misses) =
            if subject.source == EndpointSource::Pods { near_misses(subject) } else { (vec![], 0) };
        let selected = subject.selected.iter().map(|entry| (&*entry.pod.name, *entry));
        let used = subject.slices.iter().copied().filter(|slice| subject.entry.bypasses(slice).is_none());
        let reached = used.flat_map(|slice| slice.endpoints.iter().flatten());
        Self {
            subject,
            planned,
            selected: selected.collect(),
            misses: misses.into_iter().map(|miss| (miss.pod.to_string(), miss)).collect(),
            all_misses,
            read: Entries::of_slices(subject.slices.iter().copied(), zones),
            reached: reached.filter_map(|endpoint| pod_name(endpoint.target_ref.as_ref()?)).collect(),
            stored,
            wanted,
            stored_addresses: Entries::of_endpoints(subject.endpoints),
            wanted_addresses: Entries::of_endpoints(planned.endpoints.as_deref()),
            manages_endpoints: subject.manages_endpoints(),
            zones_outdated,
        }
    }

    /// The pods of interest, by name.
    pub(super) fn pods(&self) -> Vec<PodReport> {
        let present = self.read.pods.keys().chain(self.stored_addresses.pods.keys()).copied();
        let names: BTreeSet<&str> = present
            .chain(self.selected.keys().copied())
            .chain(self.misses.keys().map(String::as_str))
            .collect();
        names.into_iter().map(|name| self.pod(name)).collect()
    }

    /// The differences that are in no pod, and notes about the comparison.
    pub(super) fn of_service(&self, pods: &[PodReport]) -> Vec<(Verdict, Reason)> {
        let differs = |scope| {
            let named = pods.iter().flat_map(|pod| &pod.reasons);
            named.filter(|reason| reason.scope == scope).any(|reason| {
                [codes::LAGS.name, codes::OUTDATED.name, codes::UNDECIDED.name].contains(&reason.code)
            }) || pods.iter().any(|pod| pod.reasons.iter().any(|it| it.code == codes::POD_GONE.name))
        };
        let others = Others {
            slices: self.compares(Kind::EndpointSlices) && !self.zones_outdated && !differs(Scope::Slices),
            endpoints: self.compares(Kind::Endpoints) && !differs(Scope::Endpoints),
            slices_differ: self.stored.others != self.wanted.others,
            addresses_differ: self.stored_addresses.others != self.wanted_addresses.others,
        };
        let mut found = verdict::of_service(self.subject, self.planned, others);
        if self.zones_outdated && self.compares(Kind::EndpointSlices) {
            found.push((Verdict::Ok, codes::ZONES_OUTDATED.with_remedy(ZONES_OUTDATED, CHANGE_SERVICE)));
        }
        let not_kept = match (self.manages_endpoints, self.subject.endpoints) {
            (Some(true), _) => None,
            (Some(false), Some(_)) => Some((Verdict::Ok, "the Endpoints controller is off")),
            (Some(false), None) => Some((
                Verdict::Ok,
                "no Service with a selector has Endpoints; the Endpoints controller seems to be off",
            )),
            (None, _) => Some((
                Verdict::Unknown,
                "no Service of the namespace with a selector has Endpoints; the Endpoints controller may be off",
            )),
        };
        let reason = |(verdict, message): (_, &str)| (verdict, codes::ENDPOINTS_NOT_KEPT.reason(message));
        found.extend(not_kept.map(reason));
        if self.all_misses > MAX_NEAR_MISSES {
            let more = self.all_misses - MAX_NEAR_MISSES;
            found.push((
                Verdict::Ok,
                codes::MORE_NEAR_MISSES
                    .reason(format!("{more} more pods differ from the selector in one label")),
            ));
        }
        found
    }

    /// True if objects of this kind are compared.
    fn compares(&self, kind: Kind) -> bool {
        self.subject.snapshot.can_read(kind)
            && (kind != Kind::Endpoints || self.manages_endpoints == Some(true))
            && (self.subject.source != EndpointSource::Pods || self.subject.snapshot.can_read(Kind::Pods))
    }

    fn pod(&self, name: &str) -> PodReport {
        let entry = self.subject.objects.pod(name);
        let (mut verdict, mut reasons) = self.differences(name, entry);
        reasons.extend(self.explanations(name, entry));
        let published = entry.filter(|entry| self.selected.contains_key(name) && !entry.pod.terminal);
        reasons.extend(published.and_then(|entry| network_reason(self.subject, entry)));
        if self.subject.is_undecided() {
            verdict = verdict.max(Verdict::Unknown);
        }
        let maintained =
            matches!(self.subject.source, EndpointSource::Pods | EndpointSource::CustomEndpoints);
        let state = |presence, kind| match presence {
            Presence::Absent if !maintained || !self.compares(kind) => Presence::NotApplicable,
            presence => presence,
        };
        PodReport {
            name: name.to_owned(),
            node: entry.and_then(|entry| entry.pod.node_name.as_deref()).map(Into::into),
            addresses: entry
                .map_or_else(Vec::new, |entry| entry.pod.addresses.iter().map(ToString::to_string).collect()),
            slices: state(self.read.presence(name), Kind::EndpointSlices),
            without_ports: !self.read.of(name).is_empty() && !self.reached.contains(name),
            endpoints: state(self.stored_addresses.presence(name), Kind::Endpoints),
            verdict,
            reasons,
        }
    }

    /// The differences between the stored and the planned entries of a pod.
    fn differences(&self, name: &str, entry: Option<&PodEntry>) -> (Verdict, Vec<Reason>) {
        let differs = [
            (Scope::Slices, Kind::EndpointSlices, difference(self.stored.of(name), self.wanted.of(name))),
            (
                Scope::Endpoints,
                Kind::Endpoints,
                difference(self.stored_addresses.of(name), self.wanted_addresses.of(name)),
            ),
        ];
        let differs = differs.into_iter().filter(|(_, kind, _)| self.compares(*kind));
        let (mut verdict, mut reasons) = (Verdict::Ok, vec![]);
        for (scope, difference) in differs.filter_map(|(scope, _, difference)| Some((scope, difference?))) {
            if entry.is_none() && self.subject.source == EndpointSource::Pods {
                // The reason is that the pod is gone.
                verdict = Verdict::Wrong;
                continue;
            }
            let is_missing = match scope {
                Scope::Slices => self.stored.of(name).is_empty(),
                _ => self.stored_addresses.of(name).is_empty(),
            };
            if is_missing && self.subject.refuses_objects() {
                continue;
            }
            let is_undecided = scope == Scope::Slices && is_missing && self.depends_on_unread_node(entry);
            let (found, reason) = if is_undecided {
                let message = "slices leave the pod out, which is right if its node does not exist; nodes may not be read";
                (Verdict::Unknown, codes::UNDECIDED.reason(message))
            } else {
                judge(self.subject.snapshot.now(), self.newest(entry), scope, &difference)
            };
            verdict = verdict.max(found);
            reasons.push(reason);
        }
        (verdict, reasons)
    }

    fn depends_on_unread_node(&self, entry: Option<&PodEntry>) -> bool {
        !self.subject.snapshot.can_read(Kind::Nodes)
            && !self.subject.service().publish_not_ready_addresses
            && entry.is_some_and(|entry| entry.pod.node_name.is_some())
    }

    /// The newest change that the state of a pod depends on.
    fn newest(&self, entry: Option<&PodEntry>) -> Option<Timestamp> {
        let now = self.subject.snapshot.now();
        let kept_until = entry.and_then(|entry| self.subject.snapshot.kept_until(&entry.pod));
        let of_pod = entry.and_then(|entry| time::of_pod(&entry.object, now));
        let of_service = time::of_metadata(&self.subject.entry.object.metadata, now);
        let node = entry.and_then(|entry| entry.pod.node_name.as_deref());
        let of_node = node.and_then(|node| self.subject.snapshot.nodes().created(node));
        let custom =
            self.subject.endpoints.filter(|_| self.subject.source == EndpointSource::CustomEndpoints);
        let of_custom = custom.and_then(|endpoints| time::of_metadata(&endpoints.metadata, now));
        time::newest([of_pod, kept_until, of_service, of_node, of_custom].into_iter().flatten(), now)
    }

    /// The reasons for the state that a pod should have.
    fn explanations(&self, name: &str, entry: Option<&'a PodEntry>) -> Vec<Reason> {
        let mut reasons = vec![];
        let is_kept = !self.stored.of(name).is_empty() || !self.stored_addresses.of(name).is_empty();
        match (&self.subject.source, entry) {
            (EndpointSource::Pods, Some(entry)) if self.selected.contains_key(name) => {
                reasons.extend(self.replaced(name, entry));
                reasons.extend(self.selected_pod(name, entry));
            }
            (EndpointSource::Pods, Some(entry)) => {
                if is_kept {
                    reasons.push(not_selected(self.subject.service().selector.as_ref(), entry));
                } else if let Some(miss) = self.misses.get(name) {
                    reasons.push(label_differs(miss));
                }
            }
            (EndpointSource::Pods, None) if is_kept && self.subject.snapshot.can_read(Kind::Pods) => {
                reasons.push(codes::POD_GONE.with_remedy(
                    "the pod does not exist, and slices or Endpoints have it",
                    "if it was deleted a moment ago, look again; otherwise the controller does not run or fails",
                ));
            }
            (EndpointSource::CustomEndpoints, _) if !self.stored_addresses.of(name).is_empty() => {
                reasons.push(codes::WRITTEN_BY_USER.reason(
                    "the Endpoints name the pod; the Service has no selector, so users or other programs write them",
                ));
            }
            _ => {}
        }
        let is_delegated = matches!(self.subject.source, EndpointSource::Delegated(_));
        if !is_delegated && !self.read.of(name).is_empty() && self.stored.of(name).is_empty() {
            reasons.push(
                codes::IN_FOREIGN_SLICE
                    .reason("a slice of another controller, or one being deleted, has the pod"),
            );
        }
        reasons
    }

    fn replaced(&self, name: &str, entry: &PodEntry) -> Option<Reason> {
        let uid = entry.pod.uid.to_string();
        let in_slices = self.stored.of(name).iter().map(|entry| entry.uid);
        let mut uids = in_slices.chain(self.stored_addresses.of(name).iter().map(|entry| entry.uid));
        let is_older = uids.any(|stored| !stored.is_empty() && stored != uid);
        is_older.then(|| codes::POD_REPLACED.reason("slices or Endpoints have an earlier pod of this name"))
    }

    /// The reasons of a pod that the Service selects; `unexplained` if they don't lead to the planned state.
    fn selected_pod(&self, name: &str, entry: &'a PodEntry) -> Vec<Reason> {
        let mut predicted = predict(self.subject, entry);
        self.tolerate(name, &mut predicted);
        let mut reasons = std::mem::take(&mut predicted.reasons);
        let planned = self.wanted.of(name);
        let families: BTreeMap<AddressType, Presence> = [AddressType::Ipv4, AddressType::Ipv6]
            .into_iter()
            .map(|family| {
                let entries = planned.iter().filter(|entry| entry.address_type == family.as_str());
                (family, presence_of(entries))
            })
            .filter(|(_, presence)| *presence != Presence::Absent)
            .collect();
        let suppressed = self.subject.service().deleting;
        let agrees = families == predicted.slices
            || suppressed
                && families.iter().all(|(family, state)| predicted.slices.get(family) == Some(state));
        if self.compares(Kind::EndpointSlices) && !agrees {
            reasons.push(unexplained(Scope::Slices, &families, &predicted.slices));
        }
        let planned = Some(self.wanted_addresses.presence(name)).filter(|it| *it != Presence::Absent);
        if self.compares(Kind::Endpoints) && planned != predicted.endpoints {
            if planned.is_none() && self.planned.is_over_capacity() {
                reasons.push(codes::CUT.reason("the Endpoints are full: 1,000 other addresses are kept"));
            } else {
                reasons.push(unexplained(Scope::Endpoints, &planned, &predicted.endpoints));
            }
        }
        reasons
    }

    /// Refused addresses that are stored may stay.
    fn tolerate(&self, name: &str, predicted: &mut Predicted) {
        for refused in std::mem::take(&mut predicted.refused) {
            let address = refused.to_string();
            let in_slices: Vec<&SliceEntry<'_>> =
                self.wanted.of(name).iter().filter(|it| it.has(&address)).collect();
            let in_endpoints = self.wanted_addresses.of(name).iter().any(|entry| entry.ip == address);
            if in_slices.is_empty() && !in_endpoints {
                continue;
            }
            if !in_slices.is_empty() {
                predicted.slices.insert(AddressType::of(refused), presence_of(in_slices.into_iter()));
            }
            if in_endpoints {
                predicted.endpoints = Some(self.wanted_addresses.presence(name));
            }
            predicted.reasons.push(codes::ADDRESS_TOLERATED.reason(format!(
                "the address {address} would be refused today; it stays until its object changes otherwise"
            )));
        }
    }
}

fn presence_of<'e>(entries: impl Iterator<Item = &'e SliceEntry<'e>>) -> Presence {
    entries.map(|entry| presence(std::slice::from_ref(entry))).min().unwrap_or(Presence::Absent)
}

fn unexplained(scope: Scope, planned: &impl std::fmt::Debug, predicted: &impl std::fmt::Debug) -> Reason {
    codes::UNEXPLAINED.within(
        scope,
        format!("the controllers' plan is {planned:?}, and the rules of this command say {predicted:?}: please report this"),
    )
}

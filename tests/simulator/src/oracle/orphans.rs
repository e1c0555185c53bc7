//! Endpoints whose Service was deleted: those that existed then go, whoever wrote them, and those that another client creates
//! later stay.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use expected_objects::{DELEGATED, Objects};
use http::{Method, StatusCode};
use serde_json::Value;
use tokio::time::Instant;

use super::Write;
use crate::world::World;

/// The annotation of Endpoints that are the lock of an election: a start leaves them.
const LEADER: &str = "control-plane.alpha.kubernetes.io/leader";
/// The label with which the controller finds its own again, in a list.
const MANAGED_BY: &str = "endpoints.kubernetes.io/managed-by";

/// The time within which a list that fails is made again, several times.
const RETRIES: Duration = Duration::from_secs(120);

/// What is known of Endpoints without a Service, by name.
#[derive(Debug, Default)]
pub struct Orphans {
    /// The uids of those that existed when their Service was deleted.
    left: BTreeMap<String, String>,
    /// From which version to which Services of a name existed; the last one may still.
    services: BTreeMap<String, Vec<(u64, u64)>>,
    /// The uids and versions of those that another client created while there was no Service.
    later: BTreeMap<String, (String, u64)>,
    /// The versions at which the requests were sent that created Endpoints, by their name.
    created: BTreeMap<String, u64>,
    /// The version at which each process had written something.
    first_writes: BTreeMap<u64, u64>,
    /// How often each process has listed Services.
    lists: BTreeMap<u64, u64>,
    /// The version from which each process has watched Services last, and the time of its first list since.
    known: BTreeMap<u64, (u64, Option<Instant>)>,
    /// The version at which the API server has forgotten which Endpoints existed when a Service was deleted: all of its name may
    /// go, as with upstream.
    compacted: Option<u64>,
}

/// A request of a process for Services that are not delegated.
pub enum Read {
    List,
    /// A watch from a version.
    Watch(u64),
}

impl Read {
    /// Parses the query of a request for Services; `None` for a list with `limit=1`, which asks for the current version only.
    pub fn of(query: &str) -> Option<Self> {
        let is_page = query.contains("limit=") && !query.ends_with("limit=1");
        if query.contains("sendInitialEvents") || is_page {
            return Some(Self::List);
        }
        let version = query.split('&').find_map(|part| part.strip_prefix("resourceVersion="));
        let is_watch = query.contains("watch=true");
        version.filter(|_| is_watch)?.parse().ok().map(Self::Watch)
    }
}

impl Orphans {
    /// All objects are those of a backup.
    pub fn restored(&mut self, version: u64) {
        self.left.clear();
        self.services.clear();
        self.created.clear();
        self.known.clear();
        self.compacted(version);
    }

    /// The history until a version is gone.
    pub fn compacted(&mut self, version: u64) {
        self.compacted = Some(version);
        self.later.clear();
    }

    /// A process reads Services. Those that were created after what the leader knows, and deleted before a list, it never sees if
    /// the history is gone. A list may fail and be made again.
    pub fn services_read(&mut self, process: u64, leads: bool, read: &Read) {
        match *read {
            Read::Watch(version) => {
                self.known.insert(process, (version, None));
            }
            Read::List => {
                *self.lists.entry(process).or_default() += 1;
                let Some((known, listed)) = self.known.get_mut(&process) else { return };
                let is_retry = listed.get_or_insert_with(Instant::now).elapsed() < RETRIES;
                if leads && is_retry && Some(*known) < self.compacted {
                    let Self { left, services, known, .. } = self;
                    let Some((known, _)) = known.get(&process) else { return };
                    left.retain(|name, _| {
                        let lives = services.get(name).into_iter().flatten();
                        lives.clone().any(|(from, to)| from <= known && known < to)
                            || lives.last().is_none_or(|(from, _)| from <= known)
                    });
                }
            }
        }
    }
}

/// The Endpoints and the Service of a name, before a request of another client.
pub struct Before {
    name: String,
    endpoints: Arc<Value>,
    service: Arc<Value>,
}

fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

fn version(object: &Value) -> u64 {
    text(object, "/metadata/resourceVersion").parse().unwrap_or_default()
}

/// The resource and the name in the path of a request.
fn target(method: &Method, path: &str, body: &Value) -> Option<(&'static str, String)> {
    let path = path.split('?').next().unwrap_or_default();
    let resource = ["services", "endpoints"].into_iter().find(|resource| {
        path.split('/').any(|part| part == *resource) && path.starts_with("/api/v1/namespaces/")
    })?;
    let name =
        if *method == Method::POST { text(body, "/metadata/name") } else { path.rsplit('/').next()? };
    Some((resource, name.to_owned()))
}

impl World {
    /// Looks at the objects before another client deletes a Service.
    pub fn before(&self, method: &Method, path: &str, body: &Value) -> Option<Before> {
        let (resource, name) = target(method, path, body)?;
        if resource != "services" || *method != Method::DELETE {
            return None;
        }
        let take = |kind| self.objects("v1", kind).remove(&name).unwrap_or_default();
        let (endpoints, service) = (take("Endpoints"), take("Service"));
        Some(Before { name, endpoints, service })
    }

    /// Notes what a request of another client did to Services and Endpoints. A PUT may create, too.
    pub fn after(
        &self,
        (method, path, body): (&Method, &str, &Value),
        before: Option<Before>,
        (status, answer): (StatusCode, &Value),
    ) {
        let Some((resource, name)) = target(method, path, body) else { return };
        if resource == "services" && *method == Method::POST && status == StatusCode::CREATED {
            let life = (version(answer), u64::MAX);
            self.with(|state| {
                state.watcher.orphans.services.entry(name.clone()).or_default().push(life);
            });
        }
        let has_service = self.objects("v1", "Service").contains_key(&name);
        if let Some(Before { name, endpoints, service }) = before {
            let now = self.server.version();
            self.with(|state| {
                let lives = state.watcher.orphans.services.get_mut(&name);
                let life = lives.and_then(|lives| lives.last_mut()).filter(|_| !has_service);
                life.into_iter().for_each(|life| life.1 = now);
            });
            if has_service || endpoints.is_null() || !service["metadata"]["labels"][DELEGATED].is_null() {
                return;
            }
            let is_lock = !endpoints["metadata"]["annotations"][LEADER].is_null();
            self.with(|state| {
                let Orphans { left, later, .. } = &mut state.watcher.orphans;
                // They were created after an earlier Service of the name, and before this one was deleted.
                later.remove(&name);
                if !is_lock {
                    left.insert(name, text(&endpoints, "/metadata/uid").to_owned());
                }
            });
            return;
        }
        if resource != "endpoints" {
            return;
        }
        let created = status == StatusCode::CREATED
            && !has_service
            && answer["metadata"]["labels"][MANAGED_BY].is_null();
        let is_lock = !answer["metadata"]["annotations"][LEADER].is_null();
        self.with(|state| {
            let starts = state.watcher.starts;
            let Orphans { left, later, compacted, first_writes, created: all, .. } =
                &mut state.watcher.orphans;
            if status == StatusCode::CREATED {
                all.insert(name.clone(), version(answer));
            } else if *method == Method::DELETE {
                all.remove(&name);
            }
            let is_to_begin = |process| !first_writes.contains_key(&process);
            if is_lock && (starts == 0 || (1..=starts).any(is_to_begin)) {
                // A process that has yet to begin leaves them.
                left.remove(&name);
            }
            if created && compacted.is_none() {
                later.insert(name, (text(answer, "/metadata/uid").to_owned(), version(answer)));
            } else if *method == Method::DELETE {
                later.remove(&name);
            }
        });
    }

    /// A process starts, which leaves Endpoints that are the lock of an election by now. One that has seen the deletion of their
    /// Service, and ended before it could delete them, has taken that along.
    pub fn leave_locks(&self) {
        let endpoints = self.objects("v1", "Endpoints");
        let is_lock = |name: &String| {
            endpoints.get(name).is_some_and(|it| !it["metadata"]["annotations"][LEADER].is_null())
        };
        self.with(|state| state.watcher.orphans.left.retain(|name, _| !is_lock(name)));
    }

    /// Checks that a replica does not delete Endpoints that another client created after their Service was deleted. A process
    /// that has only a list to tell when that was cannot know, and at its start it deletes all. Those that it updated before it
    /// knew of the deletion have the endpoints of the Service, and are to be deleted.
    pub fn check_later(&self, write: &Write, name: &str) {
        let now = self.server.version();
        let of_endpoints = (write.kind == super::Kind::Endpoints).then_some(&write.method);
        let is_deleted = of_endpoints == Some(&Method::DELETE);
        let has_service = is_deleted && self.objects("v1", "Service").contains_key(name);
        let rule = self.with(|state| {
            let orphans = &mut state.watcher.orphans;
            let first = *orphans.first_writes.entry(write.started.number).or_insert(now);
            let lists = orphans.lists.get(&write.started.number).copied().unwrap_or_default();
            if of_endpoints == Some(&Method::PUT) {
                orphans.later.remove(name);
            }
            let (uid, version) = if is_deleted { orphans.later.remove(name)? } else { return None };
            let existed = orphans.left.get(name).is_some_and(|left| *left == uid);
            let is_known = !write.is_late && lists <= 1 && first < version;
            (!has_service && !existed && is_known)
                .then(|| format!("DELETE of Endpoints {name}, created after their Service was deleted"))
        });
        rule.into_iter().for_each(|rule| self.violation(rule));
    }

    /// Checks that a replica does not delete Endpoints that are younger than the Service of their name: no deletion of a Service
    /// can have left them, whatever a watch that is late shows of Services. They are as old as the request that created them, which may
    /// have been sent for an earlier Service.
    pub fn check_kept(&self, write: &Write, name: &str) {
        if write.kind != super::Kind::Endpoints {
            return;
        }
        let has_service = write.method == Method::DELETE && self.objects("v1", "Service").contains_key(name);
        let rule = self.with(|state| {
            let Orphans { services, created, compacted, .. } = &mut state.watcher.orphans;
            if write.method == Method::POST {
                created.insert(name.to_owned(), write.sent);
            }
            let created = (write.method == Method::DELETE).then(|| created.remove(name)).flatten()?;
            let (from, to) = *services.get(name)?.last()?;
            // With the gate, a Service may have been given away.
            let may_know = !write.is_late && !write.started.gate && compacted.is_none();
            (has_service && to == u64::MAX && from < created && may_know)
                .then(|| format!("DELETE of Endpoints {name}, which are younger than their Service"))
        });
        rule.into_iter().for_each(|rule| self.violation(rule));
    }

    /// The Endpoints that are left although they existed when their Service was deleted.
    pub fn left_endpoints(&self, objects: &Objects) -> Vec<String> {
        let is_there = |name: &String, uid: &String| {
            objects.endpoints.get(name).is_some_and(|object| text(object, "/metadata/uid") == *uid)
        };
        let left = self.with(|state| state.watcher.orphans.left.clone());
        let mut left: Vec<String> = left
            .into_iter()
            .filter(|(name, uid)| !objects.services.contains_key(name) && is_there(name, uid))
            .map(|(name, _)| format!("Endpoints {name} existed when their Service was deleted"))
            .collect();
        left.sort();
        left
    }
}

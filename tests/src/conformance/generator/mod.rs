//! Makes sequences of requests.
//!
//! The generator keeps a model of the objects that exist if everything goes well. Most requests are valid for it; names
//! come from a small pool, so that objects are created again, changed by several requests, and missing at times. It
//! never sees an answer: a sequence is a function of its seed.

mod objects;
mod odd;
mod patches;
mod reads;
mod resource;
mod writes;

use std::collections::HashMap;
use std::sync::LazyLock;

use random_operations::rng::Rng;
use serde_json::{Value, json};

use super::request::{Action, Body, Cell, Request};

pub(crate) use resource::{RESOURCES, Resource};

/// Requests of a sequence, about.
const LENGTH: usize = 60;
/// Names of a resource.
const NAMES: usize = 4;

pub(crate) const JSON: &str = "application/json";
pub(crate) const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";
pub(crate) const TABLE: &str = "application/json;as=Table;g=meta.k8s.io;v=v1";
pub(crate) const SEQUENCE: &str = "sequence=⟦ns⟧";

/// A verb, how often it is chosen, and the function that makes the requests.
pub(crate) struct Verb {
    name: &'static str,
    weight: usize,
    make: fn(&mut Generator, &'static Resource, &'static str),
}

static VERBS: &[Verb] = &[
    Verb { name: "create", weight: 22, make: writes::create },
    Verb { name: "get", weight: 8, make: reads::get },
    Verb { name: "list", weight: 14, make: reads::list },
    Verb { name: "watch", weight: 8, make: reads::watch },
    Verb { name: "update", weight: 14, make: writes::update },
    Verb { name: "patch", weight: 16, make: patches::patch },
    Verb { name: "status", weight: 7, make: writes::status },
    Verb { name: "delete", weight: 8, make: writes::delete },
    Verb { name: "bad", weight: 3, make: odd::bad },
];

/// The options of a verb or of other requests, from `options.txt`.
fn options(of: &str) -> &'static [&'static str] {
    static OPTIONS: LazyLock<HashMap<&'static str, Vec<&'static str>>> = LazyLock::new(|| {
        let lines = include_str!("options.txt").lines().filter_map(|line| line.split_once(": "));
        lines.map(|(of, options)| (of, options.split(", ").collect())).collect()
    });
    OPTIONS.get(of).unwrap_or_else(|| panic!("options.txt has no line for {of}"))
}

impl Verb {
    fn options(&self) -> &'static [&'static str] {
        options(self.name)
    }
}

/// Options that take seconds.
const SLOW: [&str; 3] = ["future version", "timeout", "bookmarks"];

/// Every cell that a run has to reach.
pub(crate) fn cells() -> impl Iterator<Item = Cell> {
    let of_resources = RESOURCES.iter().flat_map(|resource| {
        let verbs = VERBS.iter().filter(|verb| verb.name != "status" || resource.status);
        verbs.flat_map(|verb| {
            let cell = |option| Cell { resource: resource.plural, verb: verb.name, option };
            verb.options().iter().map(move |option| cell(*option))
        })
    });
    of_resources.chain(odd::cells())
}

/// The requests of a seed.
pub(crate) fn sequence(seed: u64) -> Vec<Request> {
    let mut generator = Generator {
        // Neighbouring seeds of SplitMix64 are not related, but the first numbers of small ones would be.
        rng: Rng::new(seed.wrapping_mul(0x2545_f491_4f6c_dd1d) ^ 0x5bd1_e995),
        requests: Vec::new(),
        live: Vec::new(),
        lists: Vec::new(),
        watches: Vec::new(),
        favourites: Vec::new(),
    };
    generator.run(seed);
    generator.requests
}

/// The combination with this number, of those that random choice would miss at times. Neighbouring sequences have
/// neighbouring numbers, so that a run reaches all of them.
fn combination(number: usize) -> (&'static Resource, &'static Verb, &'static str) {
    let options: usize = VERBS.iter().map(|verb| verb.options().len()).sum();
    let resource = &RESOURCES[number / options % RESOURCES.len()];
    let mut rest = number % options;
    for verb in VERBS {
        if let Some(option) = verb.options().get(rest) {
            // A resource without status gets what comes first.
            let usable = verb.name != "status" || resource.status;
            return if usable {
                (resource, verb, option)
            } else {
                (resource, &VERBS[0], VERBS[0].options()[0])
            };
        }
        rest -= verb.options().len();
    }
    (resource, &VERBS[0], VERBS[0].options()[0])
}

pub(crate) struct Generator {
    pub(crate) rng: Rng,
    requests: Vec<Request>,
    /// Objects that exist: resource, name, whether a finalizer holds them.
    pub(crate) live: Vec<(&'static str, String)>,
    /// Lists: number and collection.
    pub(crate) lists: Vec<(usize, String)>,
    /// Open watches: number, path to wait for, requests until it is closed, whether the server ends it.
    pub(crate) watches: Vec<(usize, String, usize, bool, Cell)>,
    /// The resources that this sequence has most to do with.
    favourites: Vec<usize>,
}

impl Generator {
    fn run(&mut self, seed: u64) {
        /// Combinations in a sequence that do not depend on chance.
        const PLANNED: usize = 2;
        self.favourites = (0..3).map(|_| self.any_resource()).collect();
        let first = usize::try_from(seed).unwrap_or_default().wrapping_mul(PLANNED);
        let mut planned = (first..first.wrapping_add(PLANNED)).map(combination);
        let mut next = LENGTH / (PLANNED + 1);
        while self.requests.len() < LENGTH {
            if self.requests.len() >= next
                && let Some((resource, verb, option)) = planned.next()
            {
                next += LENGTH / (PLANNED + 1);
                (verb.make)(self, resource, option);
            }
            if self.rng.percent(3) {
                odd::make(self);
                continue;
            }
            let number = if self.rng.percent(75) {
                *self.rng.pick(&self.favourites.clone())
            } else {
                self.any_resource()
            };
            let resource = &RESOURCES[number];
            let verb = self.verb(resource);
            let option = self.option(verb);
            (verb.make)(self, resource, option);
            self.close_watches(false);
        }
        self.close_watches(true);
    }

    fn any_resource(&mut self) -> usize {
        let total = RESOURCES.iter().map(|resource| resource.weight).sum();
        let mut chosen = self.rng.below(total);
        RESOURCES
            .iter()
            .position(|resource| {
                let here = chosen < resource.weight;
                chosen = chosen.saturating_sub(resource.weight);
                here
            })
            .unwrap_or(0)
    }

    fn verb(&mut self, resource: &Resource) -> &'static Verb {
        // Something has to be there first.
        if self.names(resource).is_empty() && self.rng.percent(70) {
            return &VERBS[0];
        }
        let usable = || VERBS.iter().filter(|verb| verb.name != "status" || resource.status);
        let mut chosen = self.rng.below(usable().map(|verb| verb.weight).sum());
        usable()
            .find(|verb| {
                let here = chosen < verb.weight;
                chosen = chosen.saturating_sub(verb.weight);
                here
            })
            .unwrap_or(&VERBS[0])
    }

    fn option(&mut self, verb: &Verb) -> &'static str {
        let usual = if verb.name == "bad" {
            0
        } else if verb.name == "create" {
            40
        } else {
            25
        };
        let option = if self.rng.percent(usual) { verb.options()[0] } else { *self.rng.pick(verb.options()) };
        if SLOW.contains(&option) && !self.rng.percent(15) { verb.options()[0] } else { option }
    }

    /// Names of existing objects.
    pub(crate) fn names(&self, resource: &Resource) -> Vec<String> {
        self.live
            .iter()
            .filter(|(plural, _)| *plural == resource.plural)
            .map(|(_, name)| name.clone())
            .collect()
    }

    /// The name of an object that mostly exists.
    pub(crate) fn existing(&mut self, resource: &Resource) -> String {
        let names = self.names(resource);
        if names.is_empty() || self.rng.percent(4) {
            let number = self.rng.below(NAMES);
            return resource.name(number);
        }
        self.rng.pick(&names).clone()
    }

    /// A name that is mostly free.
    pub(crate) fn free(&mut self, resource: &Resource) -> String {
        let taken = self.names(resource);
        let names: Vec<String> = (0..NAMES).map(|number| resource.name(number)).collect();
        let free: Vec<String> = names.iter().filter(|name| !taken.contains(name)).cloned().collect();
        if free.is_empty() || self.rng.percent(5) {
            self.rng.pick(&names).clone()
        } else {
            self.rng.pick(&free).clone()
        }
    }

    pub(crate) fn created(&mut self, resource: &Resource, name: &str) {
        if !self.names(resource).iter().any(|known| known == name) {
            self.live.push((resource.plural, name.to_owned()));
        }
    }

    pub(crate) fn deleted(&mut self, resource: &Resource, name: &str) {
        self.live.retain(|(plural, known)| *plural != resource.plural || known != name);
    }

    /// A request without anything special; the caller changes what it has to.
    pub(crate) fn request(&self, cell: Cell, method: &'static str, path: String) -> Request {
        Request {
            number: self.requests.len(),
            method,
            path,
            query: Vec::new(),
            content_type: None,
            accept: Some(JSON),
            body: Body::None,
            action: Action::Answer,
            subject: None,
            sync: None,
            cell,
        }
    }

    /// Appends a request and returns its number.
    pub(crate) fn push(&mut self, request: Request) -> usize {
        let number = self.requests.len();
        self.requests.push(Request { number, ..request });
        number
    }

    /// A watch that stays open for some requests.
    pub(crate) fn push_watch(&mut self, request: Request, awaits_end: bool, collection: String) {
        let (sync, cell) = (collection, request.cell);
        let number = self.push(Request { action: Action::Watch, ..request });
        // What happens near the end of a watch with a time limit would be a matter of chance.
        let later = if awaits_end { 0 } else { 1 + self.rng.below(8) };
        self.watches.push((number, sync, later, awaits_end, cell));
    }

    fn close_watches(&mut self, all: bool) {
        let mut due = Vec::new();
        self.watches.retain_mut(|watch| {
            watch.2 = watch.2.saturating_sub(1);
            let is_due = all || watch.2 == 0;
            if is_due {
                due.push(watch.clone());
            }
            !is_due
        });
        for (watch, sync, _, awaits_end, cell) in due {
            let action = if awaits_end { Action::AwaitEnd(watch) } else { Action::Close(watch) };
            let request = self.request(cell, "", String::new());
            self.push(Request { action, sync: Some(sync), ..request });
        }
    }
}

/// A new object.
pub(crate) fn object(rng: &mut Rng, resource: &Resource, name: Option<&str>) -> Value {
    let mut object = (resource.content)(rng);
    object["apiVersion"] = json!(resource.api_version);
    object["kind"] = json!(resource.kind);
    object["metadata"] = objects::metadata(rng, name);
    object
}

pub(crate) fn query(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}

#[cfg(test)]
mod tests;

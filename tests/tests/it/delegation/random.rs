//! Random operations on Services and on objects of other controllers for them, with the label set and removed in
//! between. At rest, no foreign object was touched, a labelled Service has no object of ours, and one without the label
//! has all of them.
//!
//! A failure prints the command that replays it. `DELEGATION_SEEDS=100..200` and `DELEGATION_OPERATIONS=500` in the
//! environment search further.

use std::collections::BTreeMap;
use std::env;
use std::panic::AssertUnwindSafe;

use futures::FutureExt as _;
use kube::ResourceExt as _;
use kube::api::DeleteParams;
use tests::wait::{self, LIMIT};

use super::fixture::{DELEGATION, ENDPOINTS, Fixture, MIRRORED, OTHER_CONTROLLER, SLICES, Seen, address};

const NAMES: [&str; 4] = ["a", "b", "c", "d"];
const VALUES: [&str; 3] = ["", "one", "two"];

#[derive(Clone, Copy, Debug)]
enum Operation {
    Create {
        selector: bool,
        label: Option<&'static str>,
    },
    Delete,
    Label(Option<&'static str>),
    Ready(bool),
    WriteEndpoints(u8),
    DeleteEndpoints,
    WriteSlice(u8),
    DeleteSlice,
    /// Waits until our program has caught up; without it, several changes come at once.
    Pause,
}

/// The operations on one name so far.
#[derive(Clone, Debug, Default)]
struct Model {
    service: Option<Service>,
    ready: bool,
    /// Endpoints that only the test has written, and that only the test may have removed, since: their uid and version.
    custom: Option<(String, String)>,
    /// The address in the slice of another controller.
    slice: Option<String>,
}

#[derive(Clone, Copy, Debug)]
struct Service {
    selector: bool,
    label: Option<&'static str>,
}

impl Model {
    /// True if Endpoints of this name are ours to write.
    fn endpoints_are_ours(&self) -> bool {
        self.service.is_some_and(|service| service.selector && service.label.is_none())
    }

    fn possible(&self, operation: Operation) -> bool {
        match operation {
            Operation::Create { .. } => self.service.is_none(),
            Operation::Delete => self.service.is_some(),
            Operation::Label(label) => self.service.is_some_and(|service| service.label != label),
            Operation::Ready(ready) => self.ready != ready,
            Operation::WriteEndpoints(_) => !self.endpoints_are_ours(),
            Operation::WriteSlice(_) => self.slice.is_none(),
            Operation::DeleteSlice => self.slice.is_some(),
            Operation::DeleteEndpoints | Operation::Pause => true,
        }
    }
}

fn any_operation(random: &mut fastrand::Rng) -> Operation {
    let label = |random: &mut fastrand::Rng| random.choice(VALUES).filter(|_| random.bool());
    match random.u32(0..18) {
        0..3 => Operation::Create { selector: random.u8(0..3) > 0, label: label(random) },
        3 => Operation::Delete,
        4..9 => Operation::Label(label(random)),
        9..11 => Operation::Ready(random.bool()),
        11..13 => Operation::WriteEndpoints(random.u8(..)),
        13 => Operation::DeleteEndpoints,
        14 => Operation::WriteSlice(random.u8(..)),
        15 => Operation::DeleteSlice,
        _ => Operation::Pause,
    }
}

/// The operations of a seed, which never change.
fn trace(seed: u64, length: usize) -> Vec<(&'static str, Operation)> {
    let mut random = fastrand::Rng::with_seed(seed);
    (0..length).map(|_| (NAMES[random.usize(0..NAMES.len())], any_operation(&mut random))).collect()
}

/// The run of one seed, with names of its own.
struct Run<'a> {
    fixture: &'a Fixture,
    seed: u64,
    models: BTreeMap<&'static str, Model>,
}

impl Run<'_> {
    fn name(&self, name: &str) -> String {
        format!("s{}-{name}", self.seed)
    }

    fn pod(&self, name: &str) -> (String, u16) {
        let place = NAMES.iter().position(|other| *other == name).unwrap();
        let number = u16::try_from(self.seed % 10_000 * 4).unwrap() + u16::try_from(place).unwrap();
        (format!("{}-{number}", self.name(name)), number)
    }

    async fn perform(&mut self, name: &'static str, operation: Operation) {
        let mut model = self.models.remove(name).unwrap_or_default();
        if model.possible(operation) {
            self.act(name, operation, &mut model).await;
        }
        if model.endpoints_are_ours() {
            // From now on our program may replace the Endpoints of others.
            model.custom = None;
        }
        self.models.insert(name, model);
    }

    async fn act(&self, name: &'static str, operation: Operation, model: &mut Model) {
        let (fixture, service) = (self.fixture, self.name(name));
        match operation {
            Operation::Create { selector, label } => {
                if selector {
                    fixture.service(&service, label, &[]).await;
                } else {
                    fixture.bare_service(&service, label).await;
                }
                model.service = Some(Service { selector, label });
            }
            Operation::Delete => {
                fixture.world.delete_service(&service).await;
                // Our program removes the objects that one of its Services leaves behind. This may have been one a
                // moment ago.
                (model.service, model.custom) = (None, None);
            }
            Operation::Label(label) => {
                fixture.label(&service, label).await;
                model.service.as_mut().unwrap().label = label;
            }
            Operation::Ready(ready) => {
                fixture.world.ready(&self.pod(name).0, ready).await;
                model.ready = ready;
            }
            Operation::WriteEndpoints(last) => {
                fixture.custom_endpoints(&service, Some(OTHER_CONTROLLER), &format!("192.0.2.{last}")).await;
                // A sync that began before may still write, or delete if its Service is gone.
                fixture.sync().await;
                let stored = fixture.endpoints.get_opt(&service).await.unwrap();
                let stored = stored.filter(|it| it.labels().values().any(|value| value == OTHER_CONTROLLER));
                let stored = stored.filter(|_| model.service.is_some());
                model.custom = stored.map(|it| (it.uid().unwrap(), it.resource_version().unwrap()));
            }
            Operation::DeleteEndpoints => {
                fixture.delete_endpoints(&service).await;
                model.custom = None;
            }
            Operation::WriteSlice(last) => {
                let address = format!("192.0.2.{last}");
                fixture.slice(&format!("{service}-theirs"), &service, &address).await;
                model.slice = Some(address);
            }
            Operation::DeleteSlice => {
                let name = format!("{service}-theirs");
                fixture.slices.delete(&name, &DeleteParams::default()).await.unwrap();
                model.slice = None;
            }
            Operation::Pause => fixture.sync().await,
        }
    }

    /// Waits until all objects are in the state that holds at rest.
    async fn check(&self) {
        self.fixture.settle().await;
        for (name, model) in &self.models {
            let service = self.name(name);
            wait::until(&format!("{service} after {model:?}"), LIMIT, || async {
                let seen = self.fixture.see(&service).await;
                let custom = self.fixture.endpoints.get_opt(&service).await.unwrap();
                let custom = custom.map(|it| (it.uid().unwrap(), it.resource_version().unwrap()));
                let wrong = wrong(model, &seen, &address(self.pod(name).1)).or_else(|| {
                    (model.custom.is_some() && model.custom != custom).then_some("the Endpoints of others")
                });
                wrong.map_or(Ok(()), |wrong| Err(format!("{wrong}: {seen:?}")))
            })
            .await;
        }
    }
}

/// The first violation of the expected state, if any.
fn wrong(model: &Model, seen: &Seen, pod: &str) -> Option<&'static str> {
    let by = |manager: &str| -> Vec<&Vec<String>> {
        seen.slices.iter().filter(|(by, _)| by == manager).map(|(_, addresses)| addresses).collect()
    };
    let theirs: Vec<Vec<String>> = model.slice.iter().map(|address| vec![address.clone()]).collect();
    if by(OTHER_CONTROLLER) != theirs.iter().collect::<Vec<_>>() {
        return Some("the slices of others");
    }
    let ours = seen.endpoints.as_ref().filter(|(by, _)| by == ENDPOINTS).map(|(_, addresses)| addresses);
    let ready: Vec<String> = model.ready.then(|| pod.to_owned()).into_iter().collect();
    let (wrong, what) = match model.service {
        // No garbage collector runs here: slices of the EndpointSlice controller stay.
        None => (ours.is_some() || !by(MIRRORED).is_empty(), "ours, of a Service that is gone"),
        Some(Service { label: Some(_), .. }) => (
            ours.is_some() || !by(MIRRORED).is_empty() || !by(SLICES).is_empty(),
            "ours, of a labelled Service",
        ),
        Some(Service { selector: true, .. }) => {
            let complete = ours == Some(&ready) && by(SLICES) == [&ready] && by(MIRRORED).is_empty();
            (!complete, "ours, of a Service with a selector")
        }
        Some(Service { selector: false, .. }) => {
            let mirrored = with_ready(seen.endpoints.iter().map(|(_, addresses)| addresses).collect());
            (with_ready(by(MIRRORED)) != mirrored, "ours, of a Service without a selector")
        }
    };
    wrong.then_some(what)
}

fn with_ready(mut lists: Vec<&Vec<String>>) -> Vec<&Vec<String>> {
    lists.retain(|addresses| !addresses.is_empty());
    lists
}

async fn run(fixture: &Fixture, seed: u64, length: usize) {
    let mut run = Run { fixture, seed, models: BTreeMap::new() };
    for name in NAMES {
        let (_, number) = run.pod(name);
        fixture.pods(&run.name(name), &[number]).await;
        run.models.insert(name, Model { ready: true, ..Model::default() });
    }
    for (name, operation) in trace(seed, length) {
        run.perform(name, operation).await;
    }
    run.check().await;
}

fn variable(name: &str, default: &str) -> String {
    env::var(name).unwrap_or_else(|_| default.to_owned())
}

fn seeds() -> Vec<u64> {
    let text = variable("DELEGATION_SEEDS", "0..20");
    let number = |text: &str| -> u64 { text.parse().expect("DELEGATION_SEEDS") };
    match text.split_once("..") {
        Some((first, end)) => (number(first)..number(end)).collect(),
        None => vec![number(&text)],
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn random_operations_leave_each_object_with_its_controller() {
    let length: usize = variable("DELEGATION_OPERATIONS", "60").parse().expect("DELEGATION_OPERATIONS");
    let fixture = Fixture::start(DELEGATION).await;
    let mut failed = Vec::new();
    for seed in seeds() {
        // A failed seed has already printed its report; it does not prevent the run of the others.
        if AssertUnwindSafe(run(&fixture, seed, length)).catch_unwind().await.is_err() {
            trace(seed, length)
                .iter()
                .enumerate()
                .for_each(|(number, step)| println!("{number:4}  {step:?}"));
            failed.push(format!(
                "DELEGATION_SEEDS={seed} DELEGATION_OPERATIONS={length} cargo test -p tests --test it delegation::random"
            ));
        }
    }
    assert!(failed.is_empty(), "failed:\n{}", failed.join("\n"));
}

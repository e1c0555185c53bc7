//! The exhaustive mode: each short scenario with a crash at every request, with the loss of every answer, and with every
//! order of the events of different kinds at each change.
//!
//! A case is one history, named by its number: `hack/simulate --exhaustive --case 17 --trace`.

use std::fmt;

use crate::action::{Action, KINDS};
use crate::fault::{Accident, Fault, Pin};
use crate::plan::{Plan, Setup};
use crate::run::one;
use crate::scenarios::{self, Scenario};
use crate::timeline::numbered;

/// The times between two changes, in milliseconds: all is written before the next one, or hardly anything is.
const PAUSES: [u64; 2] = [3_000, 15];
/// The start of the changes: the process has filled its caches.
const START: u64 = 2_000;
/// The time by which events of one kind come after those of another: longer than a write takes, shorter than a pause.
const LATER: u64 = 40;
/// The time by which events of some kinds are late: all that the others cause is written.
const LATE: u64 = 1_500;

/// The fault of a case, beyond the changes of its scenario.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Trouble {
    Nothing,
    At(Pin),
    /// Events of each kind come this much later, in milliseconds, from a change until the next.
    Order {
        change: usize,
        lag: [u64; KINDS.len()],
    },
}

/// All cases.
pub struct Cases {
    scenarios: Vec<Scenario>,
    cases: Vec<Case>,
}

struct Case {
    scenario: usize,
    pause: u64,
    trouble: Trouble,
}

impl Cases {
    /// Enumerates the cases. Runs each scenario once without a fault, to know its requests.
    pub fn all() -> Self {
        let mut all = Self { scenarios: scenarios::all(), cases: Vec::new() };
        let orders = orders();
        for scenario in 0..all.scenarios.len() {
            for pause in PAUSES {
                let calm = Case { scenario, pause, trouble: Trouble::Nothing };
                let requests = one(&all.plan_of(&calm)).requests;
                let pins = (0..requests)
                    .flat_map(|request| Accident::ALL.map(|accident| Trouble::At(Pin { request, accident })));
                let changes = 0..all.scenarios[scenario].changes.len();
                let orders = changes.flat_map(|change| orders.iter().map(move |lag| (change, *lag)));
                let orders = orders.map(|(change, lag)| Trouble::Order { change, lag });
                let troubles = pins.chain(orders).map(|trouble| Case { scenario, pause, trouble });
                all.cases.push(calm);
                all.cases.extend(troubles);
            }
        }
        all
    }

    /// The number of cases.
    pub fn count(&self) -> usize {
        self.cases.len()
    }

    /// The history of a case.
    pub fn plan(&self, number: usize) -> Plan {
        self.plan_of(&self.cases[number])
    }

    /// The case in words.
    pub fn describe(&self, number: usize) -> String {
        let Case { scenario, pause, trouble } = &self.cases[number];
        format!("{}, a change every {pause} ms: {trouble}", self.scenarios[*scenario].name)
    }

    /// The number of cases of each sort.
    pub fn summary(&self) -> String {
        let count = |sort: fn(&Trouble) -> bool| self.cases.iter().filter(|case| sort(&case.trouble)).count();
        let is_crash = |at: &Trouble| matches!(at, Trouble::At(pin) if pin.accident.fault() == Fault::Crash);
        let is_order = |trouble: &Trouble| matches!(trouble, Trouble::Order { .. });
        let (crashes, orders) = (count(is_crash), count(is_order));
        let lost = count(|trouble| matches!(trouble, Trouble::At(_))) - crashes;
        format!(
            "{} cases of {} scenarios: {crashes} crashes before and after each request, {lost} answers lost or broken, \
             {orders} orders of events",
            self.count(),
            self.scenarios.len()
        )
    }

    fn plan_of(&self, Case { scenario, pause, trouble }: &Case) -> Plan {
        let Scenario { max, before, changes, .. } = &self.scenarios[*scenario];
        let mut entries: Vec<(u64, Action)> = before.iter().map(|action| (0, action.clone())).collect();
        for (number, change) in changes.iter().enumerate() {
            let time = START + pause * number as u64;
            if let Trouble::Order { change: at, lag } = trouble {
                // In force before the change, and no longer when the next one comes.
                if *at == number {
                    entries.extend(lags(lag).map(|action| (time, action)));
                } else if *at + 1 == number {
                    entries.extend(lags(&[0; KINDS.len()]).map(|action| (time, action)));
                }
            }
            entries.push((time, change.clone()));
        }
        // Faults end when all has been written.
        entries.push((START + pause * changes.len() as u64 + LATE, Action::Touch(Vec::new())));
        let pin = if let Trouble::At(pin) = trouble { Some(*pin) } else { None };
        Plan {
            seed: *scenario as u64,
            setup: setup(*max),
            rates: Vec::new(),
            timeline: numbered(entries),
            muted: None,
            pin,
            measured: false,
            audited: false,
        }
    }
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nothing => f.write_str("no fault"),
            Self::At(Pin { request, accident }) => write!(f, "{accident:?} at request {request}"),
            Self::Order { change, lag } => {
                let kinds = KINDS.iter().zip(lag).filter(|(_, lag)| **lag > 0);
                let late: Vec<String> = kinds.map(|(kind, lag)| format!("{kind} +{lag} ms")).collect();
                write!(f, "events of change {change}: {}", late.join(", "))
            }
        }
    }
}

fn setup(max: usize) -> Setup {
    Setup {
        replicas: 1,
        fronts: 1,
        max,
        gate: true,
        collects_at_once: true,
        latency_milliseconds: 5,
        custom_endpoints: true,
        retry_seconds: 2,
        quiet_seconds: 6,
        sync_cache_min_pods: Some(1),
        ..Setup::default()
    }
}

fn lags(lag: &[u64; KINDS.len()]) -> impl Iterator<Item = Action> {
    let lag = *lag;
    (0..KINDS.len()).map(move |kind| Action::Lag { front: 0, kind, milliseconds: lag[kind] })
}

/// Kinds that have an order of their own. The last one, Services of other controllers, comes with the other Services.
const ORDERED: usize = KINDS.len() - 1;
const SERVICES: usize = 1;

/// Delays of the events of each kind: every order of the kinds, and every set of kinds that are late.
fn orders() -> Vec<[u64; KINDS.len()]> {
    let mut orders = Vec::new();
    let mut order: Vec<usize> = Vec::new();
    permutations(&mut order, &mut |order| {
        let mut lag = [0; KINDS.len()];
        for (place, kind) in order.iter().enumerate() {
            lag[*kind] = LATER * place as u64;
        }
        lag[ORDERED] = lag[SERVICES];
        orders.push(lag);
    });
    for late in 1_usize..1 << KINDS.len() {
        orders.push(std::array::from_fn(|kind| if late >> kind & 1 == 1 { LATE } else { 0 }));
    }
    orders
}

fn permutations(order: &mut Vec<usize>, visit: &mut dyn FnMut(&[usize])) {
    if order.len() == ORDERED {
        visit(order);
        return;
    }
    for kind in 0..ORDERED {
        if !order.contains(&kind) {
            order.push(kind);
            permutations(order, visit);
            order.pop();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_are_all_orders_and_all_sets() {
        let mut orders = orders();
        assert_eq!(orders.len(), 120 + 63);
        orders.sort_unstable();
        orders.dedup();
        assert_eq!(orders.len(), 120 + 63);
    }

    #[test]
    fn a_pinned_fault_happens_once() {
        let cases = Cases::all();
        let pinned = (0..cases.count()).find(|number| cases.plan(*number).pin.is_some()).unwrap();
        assert_eq!(one(&cases.plan(pinned)).counts.of(Fault::Crash), 1);
    }
}

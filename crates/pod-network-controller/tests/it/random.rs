//! Random histories of claims, pods and the Service, against an oracle with rules of its own: each slice that is written has only
//! addresses that were right since the last rest, and at rest the slices have exactly those that are.

mod model;

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use controller_harness::TestApi;
use endpointslice::Node;
use serde_json::json;

use self::model::{Model, Published};
use crate::support::{run, upsert};

/// Operations of a history.
const STEPS: usize = 30;

fn published(api: &TestApi) -> Published {
    let endpoints = api.endpoints("db").into_iter();
    let with_conditions = endpoints.map(|endpoint| {
        let [address] = endpoint.addresses.as_slice() else { panic!("{:?}", endpoint.addresses) };
        let conditions = endpoint.conditions.unwrap();
        let [ready, serving, terminating] =
            [conditions.ready, conditions.serving, conditions.terminating].map(Option::unwrap);
        (address.clone(), ready, serving, terminating)
    });
    with_conditions.collect()
}

/// The addresses that may be written from now on. A write of any other ends the test.
fn watch_writes(api: &TestApi, seed: u64) -> Arc<Mutex<BTreeSet<String>>> {
    let right = Arc::new(Mutex::new(BTreeSet::new()));
    let allowed = Arc::clone(&right);
    api.refuse_if(move |slice| {
        let addresses = slice.endpoints.iter().flatten().flat_map(|endpoint| &endpoint.addresses);
        let allowed = allowed.lock().unwrap();
        let wrong: Vec<_> = addresses.filter(|address| !allowed.contains(*address)).collect();
        assert!(
            wrong.is_empty(),
            "seed {seed}: wrote {wrong:?}, and only {allowed:?} were right since the last rest"
        );
        false
    });
    right
}

/// Waits until the controller makes no request for 5 s, at most `times` periods of 5 s. Two suffice if no request fails; a back-off
/// needs more.
async fn rest(api: &TestApi, times: usize) -> Result<(), Vec<String>> {
    let mut requests = Vec::new();
    for _ in 0..times {
        api.forget_requests();
        api.settle().await;
        requests = api.requests();
        if requests.is_empty() {
            return Ok(());
        }
    }
    Err(requests)
}

async fn history(seed: u64) {
    let api = TestApi::default();
    upsert::<Node>(&api, json!({"metadata": {"name": "node-1"}}));
    let mut model = Model::new(seed);
    model.put_service(&api);
    let right = watch_writes(&api, seed);
    let is_calm = seed.is_multiple_of(4);
    if seed.is_multiple_of(3) {
        // An admission webhook that labels each slice.
        api.mutate(|slice| {
            slice.metadata.annotations.get_or_insert_default().insert("injected".into(), "yes".into());
        });
    }
    let mut running = run(&api);
    for step in 0..STEPS {
        *right.lock().unwrap() = model.addresses().collect();
        if !is_calm {
            model.disturb(&api);
        }
        for _ in 0..model.random.u8(1..4) {
            model.step(&api);
            right.lock().unwrap().extend(model.addresses());
        }
        api.advance(Duration::from_millis(20)).await;
        api.release_events();
        if model.random.u8(..8) == 0 {
            running.stop().await;
            running = run(&api);
        }
        assert_eq!(
            rest(&api, if is_calm { 2 } else { 12 }).await,
            Ok(()),
            "seed {seed}, step {step}: writes without end"
        );
        assert_eq!(published(&api), model.expected(), "seed {seed}, step {step}");
    }
    running.stop().await;
}

/// `POD_NETWORK_SEEDS` is the number of histories, `POD_NETWORK_FROM` the first seed.
#[tokio::test(start_paused = true)]
async fn random_histories_end_with_the_addresses_of_the_network() {
    let number = |name: &str, default| std::env::var(name).map_or(default, |value| value.parse().unwrap());
    let from = number("POD_NETWORK_FROM", 0);
    for seed in from..from + number("POD_NETWORK_SEEDS", 100) {
        history(seed).await;
    }
}

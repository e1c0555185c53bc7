use serde_json::{Value, json};

use super::*;

const SLICES: &str = "endpointslice-controller";

fn now() -> Timestamp {
    "2026-11-23T10:00:00Z".parse().unwrap()
}

const fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn of(state: KeyState) -> ControllerSync {
    ControllerSync::of(SLICES, Some(state), now())
}

/// A sync that failed for the fourth time 20 s ago.
fn failing() -> KeyState {
    let text = "cannot create EndpointSlice: denied\nby a webhook".to_owned();
    let error = Some(LastError { age: seconds(20), reason: "forbidden", text });
    KeyState {
        retry: Some(seconds(12)),
        failures: 4,
        unwritten: Some(seconds(60)),
        error,
        ..KeyState::default()
    }
}

#[test]
fn the_state_says_what_ends_it() {
    let (idle, default) = (ControllerSync::of(SLICES, None, now()), KeyState::default);
    assert_eq!((idle.state, idle.waits_for), (SyncState::InSync, None));
    for (key, state, waits_for) in [
        (KeyState { syncing: Some(seconds(1)), ..default() }, SyncState::Syncing, "the end of its sync"),
        (
            KeyState { syncing: Some(seconds(1)), queued: Some(seconds(0)), ..default() },
            SyncState::Syncing,
            "the end of its sync",
        ),
        (
            KeyState { queued: Some(seconds(1)), delayed: Some(seconds(3)), ..default() },
            SyncState::Queued,
            "a worker",
        ),
        (KeyState { delayed: Some(seconds(3)), ..default() }, SyncState::Delayed, "the end of its delay"),
        (
            KeyState { retry: Some(seconds(3)), ..default() },
            SyncState::WaitingForCache,
            "the cache to show its last write",
        ),
        (
            KeyState { waits_to_write: Some("withdrawal"), ..default() },
            SyncState::WaitingToWrite,
            "its turn under the rate limit",
        ),
        (failing(), SyncState::Failing, "its retry"),
        (KeyState { delayed: Some(seconds(3)), ..failing() }, SyncState::Failing, "the end of its delay"),
        (KeyState { syncing: Some(seconds(1)), ..failing() }, SyncState::Failing, "the end of its sync"),
        (KeyState { failures: 0, ..failing() }, SyncState::Failing, "its retry"),
    ] {
        let shown = of(key.clone());
        assert_eq!((shown.state, shown.waits_for), (state, Some(waits_for)), "{key:?}");
    }
}

#[test]
fn a_service_in_text_and_json() {
    let key = ObjectKey::new("shop", "web");
    let controllers = vec![ControllerSync::of("endpoints-controller", None, now()), of(failing())];
    let service = ServiceState::new(&key, controllers).on_page(true, true);
    assert_eq!(
        service.text(),
        "Service shop/web\n\n\
         CONTROLLER                 STATE     FAILURES   LAST SYNC              NEXT SYNC              \
         UNWRITTEN SINCE        WAITS FOR\n\
         endpoints-controller       InSync    0          -                      -                      \
         -                      -\n\
         endpointslice-controller   Failing   4          2026-11-23T09:59:40Z   2026-11-23T10:00:12Z   \
         2026-11-23T09:59:00Z   its retry\n\n\
         endpointslice-controller: forbidden: cannot create EndpointSlice: denied by a webhook\n"
    );
    let shown: Value = serde_json::to_value(&service).unwrap();
    assert_eq!(
        shown,
        json!({
            "namespace": "shop", "name": "web", "leads": true, "exists": true,
            "controllers": [
                {"controller": "endpoints-controller", "state": "InSync", "failures": 0},
                {
                    "controller": SLICES, "state": "Failing", "failures": 4, "waitsFor": "its retry",
                    "lastSync": "2026-11-23T09:59:40Z", "nextSync": "2026-11-23T10:00:12Z",
                    "unwrittenSince": "2026-11-23T09:59:00Z",
                    "lastError": {
                        "reason": "forbidden", "message": "cannot create EndpointSlice: denied\nby a webhook",
                    },
                },
            ],
        })
    );
    let elsewhere = ServiceState::new(&key, vec![of(failing())]).on_page(false, false).text();
    assert!(elsewhere.contains("not in the cache") && elsewhere.contains("holds the Lease"), "{elsewhere}");
}

#[test]
fn a_list_has_the_controllers_that_fail_and_says_what_it_leaves_out() {
    let key = ObjectKey::new("shop", "web");
    let states = || [ControllerSync::of("endpoints-controller", None, now()), of(failing())].into_iter();
    let entry = ServiceState::of_state(&key, SyncState::Failing, states());
    assert!(ServiceState::of_state(&key, SyncState::Failing, states().take(1)).controllers.is_empty());
    let waiting_to_write = BTreeMap::new();
    let list = ServiceList {
        leads: true,
        state: SyncState::Failing,
        total: 2,
        services: vec![entry],
        waiting_to_write,
    };
    let text = list.text();
    assert!(
        text.starts_with("Services whose last sync failed: 2\nThe first 1 of them:\n\nSERVICE "),
        "{text}"
    );
    assert!(text.contains("shop/web   endpointslice-controller   Failing"), "{text}");
    assert!(!text.contains("endpoints-controller"), "{text}");
    let shown: Value = serde_json::to_value(&list).unwrap();
    assert_eq!((&shown["leads"], &shown["total"]), (&json!(true), &json!(2)));
    assert_eq!(shown["services"][0]["controllers"].as_array().unwrap().len(), 1);
    assert!(shown["services"][0].get("leads").is_none());
    let none = ServiceList { leads: false, total: 0, services: Vec::new(), ..list }.text();
    assert_eq!(none, format!("Services whose last sync failed: 0\n{STANDBY}"));
}

#[test]
fn a_list_of_what_waits_to_be_written_counts_plans_by_urgency() {
    let key = ObjectKey::new("shop", "web");
    let waits =
        KeyState { waits_to_write: Some("withdrawal"), unwritten: Some(seconds(2)), ..KeyState::default() };
    let entry =
        ServiceState::of_state(&key, SyncState::WaitingToWrite, [of(failing()), of(waits)].into_iter());
    let waiting_to_write = BTreeMap::from([("soft", 310), ("withdrawal", 1)]);
    let (state, services) = (SyncState::WaitingToWrite, vec![entry]);
    let list = ServiceList { leads: true, state, total: 311, services, waiting_to_write };
    let text = list.text();
    let head = "Services whose plan waits for the rate limit: 311\n\
                Plans that wait for the rate limit: soft 310, withdrawal 1\nThe first 1 of them:\n";
    assert!(
        text.starts_with(head)
            && text.contains("its turn under the rate limit: withdrawal")
            && !text.contains("Failing"),
        "{text}"
    );
    let shown: Value = serde_json::to_value(&list).unwrap();
    assert_eq!(shown["waitingToWrite"], json!({"soft": 310, "withdrawal": 1}));
    assert_eq!(shown["state"], "WaitingToWrite");
    assert_eq!(shown["services"][0]["controllers"][0]["urgency"], "withdrawal");
}

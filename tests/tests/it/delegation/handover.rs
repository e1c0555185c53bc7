//! A Service goes from us to another controller and back, as `docs/operate/delegation.md` describes, and always has a ready
//! endpoint.

use std::collections::BTreeMap;

use k8s_openapi::api::discovery::v1::EndpointSlice;
use kube::ResourceExt as _;
use kube::api::DeleteParams;
use tests::observe::{Observer, View};
use tests::wait::LIMIT;

use super::fixture::{DELEGATION, Fixture, OTHER_CONTROLLER, Seen};

/// The ready endpoints of `web` in each of its slices, and the states observed so far.
#[derive(Debug, Default)]
struct Ready {
    now: BTreeMap<String, usize>,
    history: Vec<usize>,
}

impl Ready {
    fn note(&mut self) {
        self.history.push(self.now.values().sum());
    }
}

impl View for Ready {
    fn present(&mut self, slice: EndpointSlice) {
        let ready = slice.endpoints.iter().flatten().filter(|endpoint| {
            endpoint.conditions.as_ref().and_then(|conditions| conditions.ready) == Some(true)
        });
        self.now.insert(slice.name_any(), ready.count());
        self.note();
    }

    fn absent(&mut self, slice: &EndpointSlice) {
        self.now.remove(&slice.name_any());
        self.note();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_service_handed_over_and_back_always_has_endpoints() {
    let fixture = Fixture::start(DELEGATION).await;
    fixture.service("web", None, &[1, 2]).await;
    let ours = Seen::ours(&["10.1.0.1", "10.1.0.2"]);
    fixture.expect("web", &ours).await;
    let observer = Observer::start(fixture.slices.clone(), Ready::default());
    let seen = |ready: usize| {
        let last = move |view: &Ready| view.history.last() == Some(&ready);
        observer.until("ready endpoints", LIMIT, last, |view| format!("{view:?}"))
    };
    seen(2).await;

    // To the other controller: first its slices, then the label; our program deletes ours.
    fixture.slice("web-net1", "web", "192.0.2.1").await;
    seen(3).await;
    fixture.label("web", Some(OTHER_CONTROLLER)).await;
    fixture.expect("web", &Seen::nothing().slice(OTHER_CONTROLLER, &["192.0.2.1"])).await;
    seen(1).await;

    // And back: the label goes, our slices come, and only then theirs go.
    fixture.label("web", None).await;
    fixture.expect("web", &ours.clone().slice(OTHER_CONTROLLER, &["192.0.2.1"])).await;
    seen(3).await;
    fixture.slices.delete("web-net1", &DeleteParams::default()).await.unwrap();
    fixture.expect("web", &ours).await;
    seen(2).await;

    let history = observer.with(|view| std::mem::take(&mut view.history));
    assert!(history.iter().all(|ready| *ready > 0), "{history:?}");
}

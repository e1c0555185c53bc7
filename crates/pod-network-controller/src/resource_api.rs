//! Detection of the ResourceClaim API.

use std::time::Duration;

use controller_kit::backoff::Backoff;
use kube_api::time::sleep;
use kube_api::{ApiClient, error_chain};
use tracing::{info, warn};

/// The API of ResourceClaims, which Kubernetes has since 1.34.
const PATH: &str = "/apis/resource.k8s.io/v1";

/// The longest time between two requests while the API server does not serve it: less than the minute after which a request opens a
/// new connection, perhaps to another API server, of a newer release.
const PERIOD: Duration = Duration::from_secs(30);

/// True if the API server serves ResourceClaims. Repeats a request that fails: the API server may be starting.
pub(crate) async fn serves_claims(client: &ApiClient) -> bool {
    let mut backoff = Backoff::default();
    loop {
        match client.get_raw(PATH).await {
            Ok(_) => return true,
            Err(error) if error.is_not_found() => return false,
            Err(error) => warn!(err = error_chain(&error), "Waiting for the API server"),
        }
        sleep(backoff.next_delay()).await;
    }
}

/// Completes at `stop`; or, if the API server did not serve ResourceClaims at the start, once it does: informers are chosen at the
/// start, and a new process reads them.
pub(crate) async fn stop_or_new_claims(
    stop: impl Future<Output = ()>,
    client: &ApiClient,
    served_at_start: bool,
) {
    tokio::select! {
        biased;
        () = stop => {}
        () = claims_are_served(client), if !served_at_start => {
            info!("The API server serves resource.k8s.io/v1 now; ending, so that a new process reads ResourceClaims");
        }
    }
}

/// Waits until the API server serves ResourceClaims, which it does not do now.
async fn claims_are_served(client: &ApiClient) {
    loop {
        // The replicas ask at different times.
        sleep(PERIOD.mul_f64(0.5 + 0.5 * fastrand::f64())).await;
        if serves_claims(client).await {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;
    use std::sync::Arc;

    use http::Method;
    use kube_api::Encoding;
    use kube_api::time::timeout;
    use scripted_api::script::{Answer, Script, Step};
    use scripted_api::wire::{Refusal, Wire};

    use super::*;

    fn served() -> Answer {
        Answer::new(200, "application/json", "{}")
    }

    fn refused(code: u16) -> Answer {
        Wire(Encoding::Json).refusal(&Refusal { code, message: "no", ..Refusal::default() })
    }

    /// An API server with these answers, and a client of it.
    fn api(answers: impl IntoIterator<Item = Answer>) -> (Arc<Script>, ApiClient) {
        let script = Script::new(answers.into_iter().map(|answer| Step::new(Method::GET, PATH, answer)));
        let client = ApiClient::new(script.client(), Encoding::Json, "test");
        (script, client)
    }

    #[tokio::test(start_paused = true)]
    async fn the_api_server_is_asked_until_it_answers() {
        for (answer, serves) in [(served(), true), (refused(404), false)] {
            let (script, client) = api([Answer::never(), refused(503), refused(403), answer]);
            assert_eq!(serves_claims(&client).await, serves);
            script.check();
            assert_eq!(script.seen().len(), 4, "requests");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn the_process_ends_once_the_api_server_serves_claims() {
        let (script, client) = api([refused(404), refused(404), served()]);
        stop_or_new_claims(pending(), &client, false).await;
        script.check();
        let gaps = script.gaps();
        assert!(gaps.len() == 2 && gaps.iter().all(|gap| (15.0..=30.1).contains(gap)), "{gaps:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn claims_that_are_served_at_the_start_are_not_asked_for() {
        let (script, client) = api([]);
        let day = Duration::from_secs(24 * 3600);
        assert!(timeout(day, stop_or_new_claims(pending(), &client, true)).await.is_err());
        assert!(script.seen().is_empty());
        stop_or_new_claims(async {}, &client, false).await;
    }
}

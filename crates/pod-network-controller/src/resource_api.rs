//! Whether the API server serves ResourceClaims.

use controller_kit::backoff::Backoff;
use kube_api::time::sleep;
use kube_api::{ApiClient, error_chain};
use tracing::warn;

/// The API of ResourceClaims, which Kubernetes has since 1.34.
const PATH: &str = "/apis/resource.k8s.io/v1";

/// True if the API server serves ResourceClaims. Repeats a request that fails: the API server may be starting, and permissions may
/// come later.
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use http::Method;
    use kube_api::Encoding;
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
}

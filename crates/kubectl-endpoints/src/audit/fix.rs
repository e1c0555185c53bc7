//! `--fix` and `--touch`: show the writes, ask, and make those whose reason is still there.

use std::io::IsTerminal as _;

use endpoint_diagnostics::audit::{Action, Finding, ObjectRef, Repair, Subject, is_found_in};
use http::Request;
use kube_api::error_chain;
use serde::de::IgnoredAny;

use super::command::{DryRun, Fix};
use super::request::{path, request};
use crate::ask;
use crate::cluster::Cluster;
use crate::exit::{Failure, note, show};
use crate::objects::find;

/// The outcome of one repair.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Outcome {
    Done,
    /// The object has changed since it was looked at, or is gone.
    Changed,
    /// The rule, by its id, does not find it any more: other objects have changed since.
    NotFound(&'static str),
    /// The object whose absence is the reason exists.
    Exists(ObjectRef),
    Refused(String),
}

/// Makes the repairs of findings. Returns the findings that are left.
///
/// # Errors
/// If there is no answer to the question.
pub(super) async fn fix(
    cluster: &Cluster,
    findings: Vec<Finding>,
    fix: Fix,
) -> Result<Vec<Finding>, Failure> {
    let repairs: Vec<&Repair> = findings.iter().filter_map(|finding| finding.repair.as_ref()).collect();
    if repairs.is_empty() {
        note(
            "Nothing to repair: --fix writes only objects of the controllers, and only what they do not repair themselves",
        );
        return Ok(findings);
    }
    if !agreed(cluster, "Repairs", &repairs, fix).await? {
        return Ok(findings);
    }
    let is_dry = fix.dry_run == DryRun::Server;
    let mut left = Vec::new();
    for finding in findings {
        let Some(repair) = &finding.repair else {
            left.push(finding);
            continue;
        };
        let outcome = apply(cluster, &finding, repair, is_dry).await;
        note(&line(repair, &outcome, is_dry));
        if outcome != Outcome::Done || is_dry {
            left.push(finding);
        }
    }
    Ok(left)
}

/// Writes slices once more. Whether a consumer follows then, another audit tells.
///
/// # Errors
/// If there is no answer to the question.
pub(super) async fn touch(cluster: &Cluster, touches: &[Repair], fix: Fix) -> Result<(), Failure> {
    if touches.is_empty() {
        note("Nothing to touch: no slice is left of what consumers have wrong");
        return Ok(());
    }
    if !agreed(cluster, "Touches", &touches.iter().collect::<Vec<_>>(), fix).await? {
        return Ok(());
    }
    let is_dry = fix.dry_run == DryRun::Server;
    for touch in touches {
        let outcome = send(cluster, request(touch, is_dry)).await.err().unwrap_or(Outcome::Done);
        note(&line(touch, &outcome, is_dry));
    }
    Ok(())
}

/// Shows the writes, and asks whether to make them.
async fn agreed(cluster: &Cluster, what: &str, writes: &[&Repair], fix: Fix) -> Result<bool, Failure> {
    let lines: Vec<String> = writes.iter().map(ToString::to_string).collect();
    show(&format!("\n{what} of {}:\n{}\n", cluster.server, lines.join("\n")))?;
    if fix.dry_run == DryRun::Client {
        note("Nothing was written (--dry-run=client)");
        return Ok(false);
    }
    let is_agreed = fix.yes || is_confirmed(writes.len()).await?;
    if !is_agreed {
        note("Nothing was written");
    }
    Ok(is_agreed)
}

async fn is_confirmed(count: usize) -> Result<bool, Failure> {
    if !std::io::stdin().is_terminal() {
        return Err(Failure::Input(
            "--fix and --touch ask before they write, and stdin is not a terminal: give --yes".to_owned(),
        ));
    }
    Ok(ask::is_yes(&format!("Make these {count} writes?")).await?.unwrap_or_default())
}

async fn apply(cluster: &Cluster, finding: &Finding, repair: &Repair, is_dry: bool) -> Outcome {
    if matches!(repair.action, Action::Delete | Action::AddOwner { .. })
        && let Err(outcome) = confirm(cluster, finding).await
    {
        return outcome;
    }
    if let Some(object) = &repair.unless_exists {
        match find::<IgnoredAny>(&cluster.client, &path(object)).await {
            Ok(None) => {}
            Ok(Some(_)) => return Outcome::Exists(object.clone()),
            Err(error) => return Outcome::Refused(error_chain(&error)),
        }
    }
    send(cluster, request(repair, is_dry)).await.err().unwrap_or(Outcome::Done)
}

/// Reads what belongs to the Service again, and fails if the reason for the write is gone. The version of the object does
/// not tell: a controller that resolves a duplicate writes one slice of two, and the other has the endpoints then. A Service that
/// was created anew is another owner, and the garbage collector deletes a slice that names the older one alone.
///
/// What belongs to no Service has its reason in itself.
async fn confirm(cluster: &Cluster, finding: &Finding) -> Result<(), Outcome> {
    let object = &finding.object;
    let service = match (&finding.service, object.kind) {
        (Some(name), _) => name,
        (None, Subject::Endpoints) => &object.name,
        (None, _) => return Ok(()),
    };
    let read = cluster.read_service(&object.namespace, service).await;
    let now = read.map_err(|failure| Outcome::Refused(failure.line()))?;
    if is_found_in(finding, &now) { Ok(()) } else { Err(Outcome::NotFound(finding.rule)) }
}

async fn send(cluster: &Cluster, request: Result<Request<Vec<u8>>, http::Error>) -> Result<(), Outcome> {
    let request = request.map_err(|error| Outcome::Refused(error.to_string()))?;
    cluster.http().request_text(request).await.map(drop).map_err(|error| match error {
        kube::Error::Api(status) if matches!(status.code, 404 | 409) => Outcome::Changed,
        kube::Error::Api(status) => Outcome::Refused(status.message),
        error => Outcome::Refused(error_chain(&error)),
    })
}

fn line(repair: &Repair, outcome: &Outcome, is_dry: bool) -> String {
    match outcome {
        Outcome::Done if is_dry => format!("would {repair} (server dry run)"),
        Outcome::Done => format!("done: {repair}"),
        Outcome::Changed => format!("left alone: {} has changed since, or is gone", repair.object),
        Outcome::NotFound(rule) => {
            format!("left alone: {}, in which {rule} finds nothing any more", repair.object)
        }
        Outcome::Exists(object) => format!("left alone: {}, because {object} exists", repair.object),
        Outcome::Refused(reason) => format!("Error: cannot {repair}: {reason}"),
    }
}

#[cfg(test)]
mod tests {
    use embedded_apiserver::ApiServer;
    use endpoint_diagnostics::audit::{Options, audit};
    use http::Method;
    use serde_json::{Value, json};

    use super::*;

    /// A Service `web` whose slice `web-a` has two endpoints, one of which `web-b` has too.
    async fn duplicated() -> (ApiServer, Cluster) {
        let server = ApiServer::new();
        let cluster = Cluster::in_memory(&server);
        let metadata = json!({"name": "web"});
        let service =
            json!({"metadata": metadata, "spec": {"selector": {"app": "web"}, "ports": [{"port": 80}]}});
        call(&cluster, Method::POST, "/api/v1/namespaces/default/services", &service).await;
        for (name, addresses) in [("web-a", &["10.1.0.1", "10.1.0.2"][..]), ("web-b", &["10.1.0.1"])] {
            call(&cluster, Method::POST, SLICES, &slice(name, addresses)).await;
        }
        (server, cluster)
    }

    const SLICES: &str = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices";

    fn slice(name: &str, addresses: &[&str]) -> Value {
        let labels = json!({"kubernetes.io/service-name": "web",
            "endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io"});
        let endpoints: Value = addresses.iter().map(|address| json!({"addresses": [address]})).collect();
        json!({"metadata": {"name": name, "labels": labels}, "addressType": "IPv4", "endpoints": endpoints,
            "ports": [{"name": "", "port": 80, "protocol": "TCP"}]})
    }

    async fn call(cluster: &Cluster, method: Method, path: &str, body: &Value) {
        let request = Request::builder().method(method).uri(path).header("content-type", "application/json");
        let request = request.body(body.to_string().into_bytes()).unwrap();
        cluster.http().request::<Value>(request).await.unwrap();
    }

    /// The first finding of a rule.
    async fn found(cluster: &Cluster, rule: &str) -> Finding {
        let findings = audit(&cluster.read().await.unwrap(), &Options::default()).findings;
        findings.into_iter().find(|finding| finding.rule == rule).unwrap()
    }

    async fn duplicate(cluster: &Cluster) -> Finding {
        found(cluster, "duplicate-endpoint").await
    }

    /// The outcome of a repair, and the slices after it.
    async fn applied(server: &ApiServer, cluster: &Cluster, finding: &Finding) -> (Outcome, Vec<String>) {
        let outcome = apply(cluster, finding, finding.repair.as_ref().unwrap(), false).await;
        let slices = server.objects("discovery.k8s.io/v1", "EndpointSlice");
        (outcome, slices.iter().map(|slice| slice["metadata"]["name"].as_str().unwrap().to_owned()).collect())
    }

    #[tokio::test]
    async fn a_duplicate_is_deleted() {
        let (server, cluster) = duplicated().await;
        let finding = duplicate(&cluster).await;
        let expected = (Outcome::Done, vec!["web-a".to_owned()]);
        assert_eq!(applied(&server, &cluster, &finding).await, expected);
        // Nothing is left to read.
        assert_eq!(applied(&server, &cluster, &finding).await.0, Outcome::NotFound("duplicate-endpoint"));
    }

    /// As a controller does while the question waits for an answer.
    #[tokio::test]
    async fn a_slice_that_has_become_the_only_one_with_its_endpoints_is_left_alone() {
        let (server, cluster) = duplicated().await;
        let finding = duplicate(&cluster).await;
        call(&cluster, Method::PUT, &format!("{SLICES}/web-a"), &slice("web-a", &["10.1.0.2"])).await;
        let (outcome, slices) = applied(&server, &cluster, &finding).await;
        assert_eq!((outcome.clone(), slices.len()), (Outcome::NotFound("duplicate-endpoint"), 2));
        let line = line(finding.repair.as_ref().unwrap(), &outcome, false);
        let object = "EndpointSlice default/web-b";
        assert_eq!(line, format!("left alone: {object}, in which duplicate-endpoint finds nothing any more"));
    }

    #[tokio::test]
    async fn a_service_that_is_created_anew_does_not_get_an_owner_reference_to_the_former() {
        let (server, cluster) = duplicated().await;
        let finding = found(&cluster, "slice-owner").await;
        let services = "/api/v1/namespaces/default/services";
        call(&cluster, Method::DELETE, &format!("{services}/web"), &json!({})).await;
        assert_eq!(applied(&server, &cluster, &finding).await.0, Outcome::NotFound("slice-owner"));
        let spec = json!({"selector": {"app": "web"}, "ports": [{"port": 80}]});
        call(&cluster, Method::POST, services, &json!({"metadata": {"name": "web"}, "spec": spec})).await;
        assert_eq!(applied(&server, &cluster, &finding).await.0, Outcome::NotFound("slice-owner"));
        let finding = found(&cluster, "slice-owner").await;
        assert_eq!(applied(&server, &cluster, &finding).await.0, Outcome::Done);
    }
}

//! The program's own pages: the same requests and client certificates to upstream and to ours.

mod authorities;
mod clients;
mod differences;
mod requests;
mod shape;
pub(crate) mod tls;

use std::collections::BTreeSet;

use tests::cluster::{Cluster, ClusterOptions, User};
use tests::manager::{Controller, Kind, Manager, ManagerOptions};
use tests::pages::Page;

use clients::Clients;
use differences::Difference;
use requests::Case;
use shape::shape;
use tls::Authority;

/// The user for delegated authentication and authorization, with no further permissions.
const DELEGATE: User = User::ThirdParty;

/// A leader whose controllers use service accounts, as kubeadm runs it.
fn options() -> ManagerOptions {
    let flags = [
        "--leader-elect=true",
        // No machine is so slow that one loses its Lease, which is not the subject.
        "--leader-elect-lease-duration=6m",
        "--leader-elect-renew-deadline=3m",
        "--use-service-account-credentials=true",
        // A map, for upstream; pages print maps, lists and an empty component differently.
        "--feature-gates=AllAlpha=false,ContextualLogging=true",
    ];
    ManagerOptions {
        user: User::KubeControllerManager,
        flags: flags.map(str::to_owned).to_vec(),
        ..ManagerOptions::of(Controller::ALL)
    }
}

/// The answers of both to a case.
struct Answers {
    case: Case,
    upstream: Vec<String>,
    ours: Vec<String>,
}

impl Answers {
    /// True if both answer that this client is not authenticated, or not authorized.
    fn are_refusals(&self) -> bool {
        let is_refusal = |answer: &[String]| matches!(answer[0].as_str(), "status 401" | "status 403");
        is_refusal(&self.upstream) && is_refusal(&self.ours)
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_same_answers_as_upstream() {
    let folder = tempfile::tempdir().unwrap();
    let (people, proxies) = (Authority::new("people"), Authority::new("proxies"));
    let apiserver_flags = clients::apiserver_flags(folder.path(), &people, &proxies);
    let cluster = Cluster::start(ClusterOptions { apiserver_flags, ..ClusterOptions::default() }).await;
    clients::grant(&cluster.client()).await;
    clients::client_authorities(&cluster.client()).await;
    let options = options();
    let (upstream, ours) = tokio::join!(
        Box::pin(Manager::delegating(Kind::Upstream, &cluster, &options, DELEGATE)),
        Box::pin(Manager::delegating(Kind::Ours, &cluster, &options, DELEGATE)),
    );
    let to_upstream = Clients::of(&upstream, folder.path(), &people, &proxies).await;
    let to_ours = Clients::of(&ours, folder.path(), &people, &proxies).await;
    let mut answers = Vec::new();
    for case in requests::all() {
        let upstream = shape(&case, &send(&to_upstream, &case).await);
        let ours = shape(&case, &send(&to_ours, &case).await);
        answers.push(Answers { case, upstream, ours });
    }
    let differences = differences::all();
    let unexplained = answers.iter().filter_map(|answers| unexplained_difference(answers, &differences));
    let unexplained: Vec<String> = unexplained.chain(unfounded(&answers, &differences)).collect();
    assert!(unexplained.is_empty(), "{}", unexplained.join("\n"));
}

async fn send(clients: &Clients, case: &Case) -> Page {
    clients.send(case).await.unwrap_or_else(|error| panic!("{case}: {error}"))
}

/// The difference, if it is unexplained.
fn unexplained_difference(answers: &Answers, differences: &[Difference]) -> Option<String> {
    let (mut upstream, mut ours) = (answers.upstream.clone(), answers.ours.clone());
    for difference in differences.iter().filter(|difference| difference.concerns(&answers.case)) {
        upstream.retain(|line| answers.ours.contains(line) || !matches(&difference.upstream, line));
        ours.retain(|line| answers.upstream.contains(line) || !matches(&difference.ours, line));
    }
    if upstream == ours {
        return None;
    }
    let mut text = format!("{}:\n", answers.case);
    let missing = upstream.iter().filter(|line| !ours.contains(line)).map(|line| format!("  - {line}\n"));
    let added = ours.iter().filter(|line| !upstream.contains(line)).map(|line| format!("  + {line}\n"));
    text.extend(missing.chain(added));
    Some(text)
}

/// Differences of the table that do not occur in a request that they name.
fn unfounded(answers: &[Answers], differences: &[Difference]) -> Vec<String> {
    let mut unfounded = Vec::new();
    for difference in differences {
        for name in &difference.requests {
            let named = answers.iter().filter(|answers| differences::is_named(name, &answers.case));
            let concerned: Vec<_> = named.filter(|answers| !answers.are_refusals()).collect();
            if concerned.is_empty() {
                unfounded.push(format!("{}: no request is {name}", difference.what));
            }
            for Answers { case, upstream, ours } in concerned {
                for (beginnings, those, others) in
                    [(&difference.upstream, upstream, ours), (&difference.ours, ours, upstream)]
                {
                    let occurs = |beginning: &str| {
                        those.iter().any(|line| line.starts_with(beginning) && !others.contains(line))
                    };
                    unfounded.extend(beginnings.iter().filter(|beginning| !occurs(beginning)).map(
                        |beginning| format!("{}: {case}: no difference in {beginning}", difference.what),
                    ));
                }
            }
        }
    }
    unfounded
}

fn matches(beginnings: &[String], line: &str) -> bool {
    beginnings.iter().any(|beginning| line.starts_with(beginning.as_str()))
}

/// The table in docs/reference/parity.md is the table of the test.
#[test]
fn documented_differences() {
    const DOCUMENT: &str = include_str!("../../../../docs/reference/parity.md");
    let rows = DOCUMENT.lines().filter(|line| line.ends_with("`the_same_answers_as_upstream` |"));
    let documented: BTreeSet<&str> =
        rows.map(|row| row.trim_start_matches("| ").split(" | ").next().unwrap()).collect();
    let differences = differences::all();
    let asserted: BTreeSet<&str> = differences.iter().map(|difference| difference.what.as_str()).collect();
    assert_eq!(documented, asserted);
}

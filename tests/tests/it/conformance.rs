//! Random requests to the real API server and to another one: see [`tests::conformance`].
//!
//! | Variable | Meaning | Default |
//! |---|---|---|
//! | `CONFORMANCE_REQUESTS` | requests after which no further sequence begins | 100,000; 4,000 for the real server with itself |
//! | `CONFORMANCE_SEEDS` | sequences, such as `1 5 7..12`, instead of a number of requests | |
//! | `CONFORMANCE_ONLY` | numbers of requests: all others of each sequence are left out | |
//! | `CONFORMANCE_PARALLEL` | sequences at a time, at most 64 | 48 |
//! | `CONFORMANCE_GO_ON` | `1`: go on after a difference while the status codes are equal | |
//! | `CONFORMANCE_SHRINK` | classes of differences whose first sequence is shrunk | 10 |
//! | `RECORD` | `1`: writes the recorded facts and refusals again instead of comparing them | |

use std::path::Path;

use tests::cluster::{Cluster, ClusterOptions};
use tests::conformance::{
    Options, Pair, Report, Server, embedded_server, real_cluster, record, record_refusals, run,
};

fn check(report: &Report, options: &Options) {
    println!("{report}");
    assert!(report.classes.is_empty(), "the servers' answers differ: {} classes", report.classes.len());
    // Two of 100,000 requests: more is not chance.
    assert!(report.once.len() <= 2, "the servers' answers differed {} times by chance", report.once.len());
    if options.seeds.is_empty() && options.requests >= 100_000 {
        let missing = report.coverage.missing();
        assert!(missing.is_empty(), "not covered:\n{}", missing.join("\n"));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "a loaded machine makes two real servers differ in a few requests of ten thousand: run it with --ignored"]
async fn real_servers_answer_alike() {
    let options = Options::from_environment("real_servers_answer_alike", 4_000);
    let (first, second) = tokio::join!(Box::pin(real_cluster()), Box::pin(real_cluster()));
    let pair = Pair { real: Server::of(&first), other: Server::of(&second) };
    check(&run(&pair, &options).await, &options);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_embedded_server_answers_like_the_real_one() {
    let options = Options::from_environment("the_embedded_server_answers_like_the_real_one", 100_000);
    let cluster = Box::pin(real_cluster()).await;
    let pair = Pair { real: Server::of(&cluster), other: embedded_server().await };
    check(&run(&pair, &options).await, &options);
}

/// Compares a file of `embedded-apiserver` with what the real server answers, or records it again. If it differs, a fresh server is
/// asked once more: a busy one may fail to release the addresses of a deleted Service, and then refuses them.
async fn recorded(file: &str, record: impl AsyncFn(&Server, &str) -> String) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/embedded-apiserver").join(file);
    let recorded = std::fs::read_to_string(&path).expect("the recorded answers");
    let answers = async || {
        let cluster = Box::pin(Cluster::start(ClusterOptions::default())).await;
        record(&Server::of(&cluster), &recorded).await
    };
    let mut answered = answers().await;
    if std::env::var_os("RECORD").is_some() {
        std::fs::write(&path, answered).expect("writing the answers");
        return;
    }
    if answered != recorded {
        answered = answers().await;
    }
    let differing: Vec<_> = recorded.lines().zip(answered.lines()).filter(|(old, new)| old != new).collect();
    let shown: Vec<_> = differing.iter().map(|(old, new)| format!("- {old}\n+ {new}")).collect();
    assert!(shown.is_empty(), "RECORD=1 writes {}:\n{}", path.display(), shown.join("\n"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn recorded_facts_are_those_of_the_real_server() {
    recorded("src/kinds/tests/facts.jsonl", record).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn recorded_refusals_are_those_of_the_real_server() {
    recorded("tests/it/refusals.jsonl", record_refusals).await;
}

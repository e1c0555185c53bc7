//! The conformance run: random sequences of requests on two API servers, whose answers must be equal.
//!
//! A sequence is a pure function of its seed: a list of requests as data, with references to earlier
//! answers. It runs in its own namespace on both servers in step. After each request, status, headers, body and the
//! events of watches are compared in canonical form: byte for byte, apart from white space and
//! what two equal servers choose freely. A failing sequence is shrunk and printed with the command that
//! repeats it.
//!
//! Two real servers give equal answers, so that a difference is one of the other server.
//!
//! | Concern | Rule |
//! |---|---|
//! | uids, allocated addresses and ports, suffixes of names | equal if they were equal before |
//! | resourceVersions | equal if they were equal before, and of the same order; versions of lists only by order |
//! | times | in the past, or the time until a deletion |
//! | reads from the real server's cache | a consistent list comes first, so that the cache is not behind |
//! | events | both servers get time to send equally many; bookmarks count if they must come |
//! | warnings of an update that conflicts | not compared: the real server gives them if its cache was behind |
//! | Events that the real server's repair of Services writes | left out by label; a continue token that is due to them ends the sequence |
//! | audit ids, flow control, dates | not compared |
//! | conflicts of server-side apply, errors of its type check, finalizers that deletions set | sorted: they follow the random order of Go's maps |
//! | differences that do not repeat in five runs of the sequence alone | reported; the run fails from the third on |
//! | panics of the real server | end the sequence; counted as status 0 |

mod canonical;
mod compare;
mod coverage;
pub(crate) mod deviations;
mod earlier_responses;
mod embedded;
mod exchange;
mod facts;
mod generator;
pub(crate) mod request;
mod run;
mod sequence;
mod shrink;
mod tree;
mod view;
mod wire;

use std::ops::RangeInclusive;

use crate::cluster::{Cluster, ClusterOptions};

pub use coverage::Coverage;
pub use embedded::embedded_server;
pub use exchange::Server;
pub use facts::{record, record_refusals};
pub use run::{Options, Report, run};
pub use sequence::Pair;

/// Ports for Services on both servers. Each chooses at random: with the 2,768 of the default, a real server gives a Service of
/// a sequence a port that another one of it just had, about once in 100,000 requests.
const NODE_PORTS: RangeInclusive<u16> = 30_000..=65_535;

/// Starts the real server, with the node ports of the embedded one, and without what only costs time.
///
/// Its history begins with the present: what comes before has been compacted, and no cache knows it.
pub async fn real_cluster() -> Cluster {
    const FLAGS: [&str; 2] = ["--audit-log-path=", "--audit-policy-file="];
    let node_ports = format!("--service-node-port-range={}-{}", NODE_PORTS.start(), NODE_PORTS.end());
    let options = ClusterOptions {
        apiserver_flags: FLAGS.map(str::to_owned).into_iter().chain([node_ports]).collect(),
        memory_limit: Some("2GiB".to_owned()),
        ..ClusterOptions::default()
    };
    let mut cluster = Box::pin(Cluster::start(options)).await;
    cluster.stop_apiserver();
    Server::of(&cluster).compact().await;
    Box::pin(cluster.start_apiserver()).await;
    cluster
}

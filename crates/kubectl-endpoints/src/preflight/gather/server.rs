//! The API server itself: its version, its clock, and the watches that it offers.

use endpoint_controller_manager::connection::server_version::ServerVersion;
use http::{HeaderMap, StatusCode, header};
use jiff::Timestamp;
use jiff::fmt::rfc2822;
use serde_json::Value;

use crate::cluster::Cluster;
use crate::exit::Failure;
use crate::preflight::unknown::{Fact, Unknown};

/// A watch of one Service, as the program's informers begin, for a second at most.
const STREAM: &str = "/api/v1/namespaces/default/services?watch=true&allowWatchBookmarks=true&sendInitialEvents=true\
                      &resourceVersionMatch=NotOlderThan&timeoutSeconds=1&fieldSelector=metadata.name%3Dkubernetes";

/// The time and the version of the API server.
///
/// # Errors
/// A line about an API server that cannot be reached, or that does not know the caller.
pub(super) async fn version(cluster: &Cluster) -> Result<(Timestamp, Fact<ServerVersion>), Failure> {
    let server = &cluster.server;
    let unreachable =
        |reason: &str| Failure::Access(format!("cannot reach the API server {server}: {reason}"));
    let head = cluster.head("/version", &HeaderMap::new()).await.map_err(|reason| unreachable(&reason))?;
    if head.status == StatusCode::UNAUTHORIZED {
        return Err(Failure::Access(format!(
            "{server} refuses the request: {}; the credentials of the kubeconfig are not valid",
            head.message
        )));
    }
    let date = head.headers.get(header::DATE).and_then(|date| date.to_str().ok());
    // Another clock than that which stamps Leases would call them late.
    let now =
        date.and_then(|date| rfc2822::parse(date).ok()).map_or_else(Timestamp::now, |now| now.timestamp());
    let version = cluster.get::<Value>("/version", "get the path /version").await;
    let version =
        version.and_then(|version| version.ok_or_else(|| Unknown::failed("get /version", "not found")));
    Ok((now, version.map(|version| ServerVersion::parse(&version))))
}

/// True if the API server accepts a watch that begins with the present objects.
pub(super) async fn streaming(cluster: &Cluster) -> Fact<bool> {
    let action = "watch services";
    let head = cluster.head(STREAM, &HeaderMap::new()).await;
    let head = head.map_err(|reason| Unknown::failed(action, &reason))?;
    match head.status {
        status if status.is_success() => Ok(true),
        StatusCode::FORBIDDEN => Err(Unknown::forbidden(action)),
        StatusCode::UNPROCESSABLE_ENTITY | StatusCode::BAD_REQUEST => Ok(false),
        _ => Err(Unknown::failed(action, &head.message)),
    }
}

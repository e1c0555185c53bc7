//! The requests of a preflight. Each fact that cannot be read leaves the others as they are.

mod access;
mod kube_system;
mod lasting;
mod objects;
mod priority;
mod requests;
mod server;

use std::time::Duration;

use endpoint_controller_manager::config::Config;
use futures::future::join;

use super::facts::Facts;
use super::subject::Subject;
use crate::cluster::Cluster;
use crate::exit::Failure;
use crate::lease::{SYSTEM, lease_name};

/// Reads a cluster.
///
/// # Errors
/// A line about an API server that cannot be reached, or that does not know the caller.
pub(super) async fn gather(
    cluster: &Cluster,
    config: &Config,
    subject: &Subject,
    confirm_after: Duration,
) -> Result<Facts, Failure> {
    let (now, version) = server::version(cluster).await?;
    let (namespace, name) = lease_name(config);
    let own_lease = kube_system::lease(cluster, (namespace, name), now).await;
    let permissions = access::permissions(cluster, config, !matches!(own_lease, Ok(None)), subject);
    let priorities = priority::priorities(cluster, subject, (namespace, name));
    let (permissions, (priority, priority_of_lease)) = join(permissions, priorities).await;
    let (writers, takeover) = objects::objects(cluster, config, confirm_after).await;
    Ok(Facts {
        now,
        version,
        streaming: server::streaming(cluster).await,
        priority,
        priority_of_lease,
        permissions,
        upstream_lease: kube_system::lease(cluster, (SYSTEM, "kube-controller-manager"), now).await,
        own_lease,
        managers: kube_system::managers(cluster).await,
        kubeadm: kube_system::kubeadm(cluster).await,
        writers,
        takeover,
        workloads: kube_system::workloads(cluster).await,
    })
}

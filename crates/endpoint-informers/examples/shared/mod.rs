//! Runs an example: one replica, without leader election. `pod-network-controller` shows a
//! process with an election.

use std::error::Error;

use endpoint_informers::manager::{Manager, terminated};
use endpoint_informers::reconciler::SliceReconciler;
use kube_api::{ApiClient, Encoding, connect, load_user_kubeconfig};

/// Runs a controller on the cluster of the kubeconfig, until SIGTERM or Ctrl-C.
pub(crate) async fn run_until_interrupted<R: SliceReconciler>(rules: R) -> Result<(), Box<dyn Error>> {
    tracing_subscriber::fmt().with_writer(std::io::stderr).init();
    let config = load_user_kubeconfig(None, None).await?;
    let client = ApiClient::new(connect(&config)?, Encoding::Protobuf, R::NAME);
    Ok(Manager::new(client).run(rules, terminated()?).await?)
}

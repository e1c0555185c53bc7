//! The process: reconciles while it is the leader.

use std::error::Error;

use endpoint_informers::manager::Manager;
use kube_api::{ApiClient, Encoding, connect};
use secondary_network_controller::{NAME, SecondaryNetwork};
use tokio::signal::unix::{SignalKind, signal};

/// Runs until SIGTERM, or fails when leadership is lost: start a new process then.
#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    tracing_subscriber::fmt().init();
    let mut terminate = signal(SignalKind::terminate())?;
    let config = kube::Config::infer().await?;
    let client = ApiClient::new(connect(&config)?, Encoding::Protobuf, NAME);
    let terminated = async move {
        terminate.recv().await;
    };
    Manager::new(client)
        .with_leader_election(&config.default_namespace)
        .run(SecondaryNetwork, terminated)
        .await?;
    Ok(())
}

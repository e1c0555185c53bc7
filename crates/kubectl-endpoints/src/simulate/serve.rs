//! `--serve`: the API server and the controllers, for kubectl.

use std::net::SocketAddr;
use std::path::Path;

use endpoint_controller_manager::signals::StopSignals;
use tokio::sync::oneshot;

use super::command::Simulation;
use super::kubeconfig::Kubeconfig;
use super::kubelets;
use super::session::{Outcome, Session};
use super::workloads::Workloads;
use crate::exit::{Code, Failure, note, print};
use crate::progress::Progress;

/// Serves until a signal.
pub(crate) async fn serve(
    session: Session,
    simulation: &Simulation,
    listen: SocketAddr,
    kubeconfig: Option<&Path>,
    progress: &Progress,
) -> Result<Outcome, Failure> {
    let mut signals =
        StopSignals::listen().map_err(|error| Failure::Input(format!("cannot handle signals: {error}")))?;
    let listener = session.server.listen(listen).await.map_err(Failure::Input)?;
    let file = Kubeconfig::create(kubeconfig, &listener.kubeconfig).map_err(Failure::Input)?;
    let url = listener.url.clone();
    let controllers = session.controllers(simulation, progress).await?;
    let (end, ended) = oneshot::channel::<()>();
    let serving = tokio::spawn(listener.run(async { drop(ended.await) }));
    let idle = controllers.idle.clone();
    let client = session.server.client();
    let workloads = Workloads::start(&client).await?;
    let ready = async {
        // An error ends the controllers, which report it.
        let _ = idle.reached().await;
        progress.step(String::new);
        for line in &session.notes {
            note(line);
        }
        print_usage(&url, file.path());
        tokio::join!(kubelets::run(&client), workloads.run());
    };
    let stop = async {
        tokio::select! {
            signal = signals.received() => note(&format!("Received {signal}: the server ends")),
            () = ready => {}
        }
    };
    let outcome = Box::pin(controllers.run_until(stop)).await;
    drop(end);
    // Fails only if it panicked.
    let _ = serving.await;
    outcome?;
    Ok(Outcome { text: String::new(), notes: Vec::new(), code: Code::Done })
}

fn print_usage(address: &str, kubeconfig: &Path) {
    let path = kubeconfig.display();
    // stdout has one line that a script can use.
    print(&format!("export KUBECONFIG={path}\n"));
    note(&format!(
        "The API server listens at {address} until Ctrl-C. In another terminal:\n\n  \
         export KUBECONFIG={path}\n  kubectl get endpointslices -A -w\n  kubectl apply -f ...\n\n\
         Deployments and ReplicaSets get pods; StatefulSets, DaemonSets and Jobs are unknown to this server."
    ));
}

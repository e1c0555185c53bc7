//! `explain --serve`: a page with the reports on all Services, on loopback, or for the users of the cluster.

mod shared;

use std::sync::Arc;
use std::time::Duration;

use component_server::{Limits, ServingOptions, serve_plain};
use endpoint_controller_manager::signals::StopSignals;
use endpoint_controller_manager::version;
use endpoint_diagnostics::Snapshot;
use endpoint_diagnostics::snapshot::Kind;
use endpoint_diagnostics_page::follow::Follower;
use endpoint_diagnostics_page::{Facts, Origin, State, router};
use jiff::Timestamp;
use kube_api::ApiClient;
use tokio::net::TcpListener;
use tokio::sync::watch;

use crate::cluster::Cluster;
use crate::exit::{self, Failure};
use crate::explain::Page;
use crate::flags::Target;
use crate::live::{self, Watches};
use crate::{files, token};

/// The time that requests get to finish after Ctrl-C.
const GRACE: Duration = Duration::from_secs(2);

/// Serves for the subcommand of this name until a signal.
///
/// # Errors
/// A line about the address, the cluster or the files.
pub(crate) async fn serve(target: &Target, page: Page, name: &str) -> Result<(), Failure> {
    match page {
        Page::Own(address) => {
            let failed = |error| Failure::Input(format!("--listen: cannot listen at {address}: {error}"));
            let listener = TcpListener::bind(address).await.map_err(failed)?;
            if !target.files.is_empty() {
                return input(target, listener).await;
            }
            let serve = async |_, follower| until_signal(listener, follower).await;
            cluster(target, name, target.cluster.words(), serve).await
        }
        Page::Shared { listen, certificate } => {
            let (tls_cert_file, tls_private_key_file) = certificate.unzip();
            let options = ServingOptions {
                bind_address: listen.ip(),
                secure_port: listen.port().into(),
                tls_cert_file,
                tls_private_key_file,
                // A browser loads the files of the page as nobody, and HTTP/2 connections of nobody are closed.
                disable_http2_serving: true,
                ..ServingOptions::default()
            };
            let server = shared::listen(&options).await?;
            let serve = async |client: ApiClient, follower| shared::serve(server, &client, follower).await;
            // Its users have kubeconfigs of their own.
            Box::pin(cluster(target, name, Vec::new(), serve)).await
        }
    }
}

/// Follows a cluster while the page is served, whose users reach it by these flags of kubectl.
async fn cluster(
    target: &Target,
    name: &str,
    flags: Vec<String>,
    serve: impl AsyncFnOnce(ApiClient, Arc<Follower>) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let cluster = Cluster::of(target, name).await?;
    let (snapshot, versions) = cluster.read_to_watch().await?;
    let watches = Watches::start(&cluster.client, cluster.namespace.as_deref(), versions);
    let name = match &cluster.namespace {
        None => cluster.server.clone(),
        Some(namespace) => format!("{}, namespace {namespace}", cluster.server),
    };
    let origin = Origin { name, flags, state: State::Live, message: String::new() };
    let follower = follower(snapshot, origin).await?;
    tokio::select! {
        served = serve(cluster.client.clone(), Arc::clone(&follower)) => served,
        () = live::control_plane(cluster.client.clone(), Arc::clone(&follower)) => Ok(()),
        () = live::gather(watches, follower) => Err(Failure::Access("the watches have ended".to_owned())),
    }
}

/// Shows files as they are.
async fn input(target: &Target, listener: TcpListener) -> Result<(), Failure> {
    let mut snapshot = files::read(target)?;
    if let Some(namespace) = &target.namespace {
        let others = snapshot.services().filter(|key| *key.namespace != **namespace);
        for key in others.collect::<Vec<_>>() {
            snapshot.remove(Kind::Services, &key.namespace, &key.name);
        }
    }
    let (name, message) = (target.files.join(", "), "Files, read once".to_owned());
    let files = target.files.iter().flat_map(|file| ["-f".to_owned(), file.clone()]);
    let flags = files.chain(target.recursive.then(|| "-R".to_owned())).collect();
    let origin = Origin { name, flags, state: State::Fixed, message };
    until_signal(listener, follower(snapshot, origin).await?).await
}

async fn follower(snapshot: Snapshot, origin: Origin) -> Result<Arc<Follower>, Failure> {
    // Distinguishes this run from others for pages that are still open.
    let run = u64::try_from(Timestamp::now().as_microsecond()).unwrap_or_default();
    let first = tokio::task::spawn_blocking(move || Follower::new(snapshot, run, origin));
    let failed = |error| Failure::Input(format!("cannot report on the Services: {error}"));
    let follower = first.await.map(Arc::new).map_err(failed)?;
    follower.set_facts(Facts { program: version::VERSION.to_owned(), ..Facts::default() });
    Ok(follower)
}

async fn until_signal(listener: TcpListener, follower: Arc<Follower>) -> Result<(), Failure> {
    let signals = StopSignals::listen();
    let mut signals = signals.map_err(|error| Failure::Access(format!("cannot handle signals: {error}")))?;
    let address = listener.local_addr();
    let address = address.map_err(|error| Failure::Access(format!("--listen: {error}")))?;
    let token = token::random().map_err(Failure::Access)?;
    // stdout has one line that a script can use.
    exit::show(&format!("http://{address}/#token={token}\n"))?;
    exit::note(
        "The page is served until Ctrl-C. Open it in a browser on this machine. Who has the token can read the page.",
    );
    let (stop, stopping) = watch::channel(false);
    let stopped = async {
        let signal = signals.received().await;
        exit::note(&format!("Received {signal}: the server ends"));
        stop.send_replace(true);
    };
    let limits = Limits { grace: GRACE, ..Limits::default() };
    serve_plain(listener, router(follower, &token, stopping), limits, stopped).await;
    Ok(())
}

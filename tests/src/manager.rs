//! The controllers under test: upstream's kube-controller-manager, or ours.

use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::time::Duration;

use clap::ValueEnum;
use tokio::net::TcpStream;

use crate::cluster::{Cluster, User};
use crate::pages::{Page, Pages};
use crate::process::{Environment, Process, Usage};
use crate::wait::{self, LIMIT};
use crate::{binaries, ports};

/// The program under test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Kind {
    /// kube-controller-manager.
    Upstream,
    /// endpoint-controller-manager.
    Ours,
}

impl Kind {
    /// The short name for messages and tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Upstream => "upstream",
            Self::Ours => "ours",
        }
    }

    /// The one that an option names, or both.
    pub fn only(named: Option<Self>) -> Vec<Self> {
        named.map_or_else(|| vec![Self::Upstream, Self::Ours], |kind| vec![kind])
    }
}

/// A controller that `--controllers` names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Controller {
    /// Services and pods to Endpoints.
    Endpoints,
    /// Services and pods to slices.
    EndpointSlice,
    /// Custom Endpoints to slices.
    EndpointSliceMirroring,
}

impl Controller {
    /// All three.
    pub const ALL: &[Self] = &[Self::Endpoints, Self::EndpointSlice, Self::EndpointSliceMirroring];

    /// Its name in flags.
    pub fn name(self) -> &'static str {
        match self {
            Self::Endpoints => "endpoints-controller",
            Self::EndpointSlice => "endpointslice-controller",
            Self::EndpointSliceMirroring => "endpointslice-mirroring-controller",
        }
    }

    /// The client name at the end of the user agent.
    pub fn client(self) -> &'static str {
        match self {
            Self::Endpoints => "/endpoint-controller",
            Self::EndpointSlice => "/endpointslice-controller",
            Self::EndpointSliceMirroring => "/endpointslicemirroring-controller",
        }
    }

    /// The value of `--controllers` for several.
    pub fn list(controllers: &[Self]) -> String {
        controllers.iter().map(|controller| controller.name()).collect::<Vec<_>>().join(",")
    }

    fn user(self) -> User {
        match self {
            Self::Endpoints => User::EndpointsController,
            Self::EndpointSlice => User::EndpointSliceController,
            Self::EndpointSliceMirroring => User::EndpointSliceMirroringController,
        }
    }
}

/// Options that both programs take as the same flags.
#[derive(Debug, Clone)]
pub struct ManagerOptions {
    /// The user whose kubeconfig the manager gets.
    pub user: User,
    /// `--controllers`.
    pub controllers: &'static [Controller],
    /// Another value of `--controllers`.
    pub controllers_flag: Option<String>,
    /// `--kube-api-qps`; the burst is the same.
    pub qps: u32,
    /// `--max-endpoints-per-slice`.
    pub max_endpoints_per_slice: u32,
    /// `--mirroring-max-endpoints-per-subset`.
    pub max_endpoints_per_subset: u32,
    /// `--endpointslice-updates-batch-period`.
    pub batch_period: Duration,
    /// `--leader-elect`; without it the manager runs without a Lease.
    pub leader_election: Option<LeaderElection>,
    /// More flags.
    pub flags: Vec<String>,
    /// Another kubeconfig than the user's.
    pub kubeconfig: Option<PathBuf>,
    /// Environment variables and stderr.
    pub environment: Environment,
}

impl Default for ManagerOptions {
    fn default() -> Self {
        Self::of(&[Controller::EndpointSlice])
    }
}

impl ManagerOptions {
    /// Options for these controllers, with their permissions.
    pub fn of(controllers: &'static [Controller]) -> Self {
        let user = match controllers {
            [controller] => controller.user(),
            _ => User::EndpointControllers,
        };
        Self {
            user,
            controllers,
            controllers_flag: None,
            // Too high for client-side throttling, which no test is about.
            qps: 1_000,
            max_endpoints_per_slice: 100,
            max_endpoints_per_subset: 1_000,
            batch_period: Duration::ZERO,
            leader_election: None,
            flags: Vec::new(),
            kubeconfig: None,
            environment: Environment::default(),
        }
    }
}

/// The durations of leader election. The Lease is by default that of our program, for both.
#[derive(Debug, Clone, Copy)]
pub struct LeaderElection {
    /// `--leader-elect-lease-duration`: the time after which a silent leader may be replaced.
    pub lease_duration: Duration,
    /// `--leader-elect-renew-deadline`: the time that a leader tries to renew.
    pub renew_deadline: Duration,
    /// `--leader-elect-retry-period`: the interval between two attempts.
    pub retry_period: Duration,
}

impl LeaderElection {
    /// The Lease, in `kube-system`.
    pub const LEASE: &str = "endpoint-controller-manager";

    /// The defaults of both programs.
    pub const DEFAULT: Self = Self {
        lease_duration: Duration::from_secs(15),
        renew_deadline: Duration::from_secs(10),
        retry_period: Duration::from_secs(2),
    };

    fn flags(self) -> Vec<String> {
        let flag = |name: &str, value: Duration| format!("--leader-elect-{name}={}ms", value.as_millis());
        vec![
            "--leader-elect=true".to_owned(),
            flag("lease-duration", self.lease_duration),
            flag("renew-deadline", self.renew_deadline),
            flag("retry-period", self.retry_period),
        ]
    }
}

/// Paths that anonymous clients may read.
const OPEN_PATHS: &str = "/healthz,/readyz,/livez,/metrics";

/// A running manager.
#[derive(Debug)]
pub struct Manager {
    kind: Kind,
    process: Process,
    port: u16,
    pages: Option<Pages>,
}

impl Manager {
    /// Starts a manager and waits until it is ready.
    pub async fn start(kind: Kind, cluster: &Cluster, options: &ManagerOptions) -> Self {
        let mut manager = Self::launch(kind, cluster, options);
        if kind == Kind::Ours {
            manager.ready().await;
        }
        manager
    }

    /// Starts a manager without waiting, because upstream has no signal to wait for.
    pub fn launch(kind: Kind, cluster: &Cluster, options: &ManagerOptions) -> Self {
        match kind {
            Kind::Upstream => Self::upstream(cluster, options),
            Kind::Ours => Self::ours_unready(cluster, options),
        }
    }

    /// Starts upstream. It does not report that its caches are synced: wait with a [barrier](crate::barrier::Barrier).
    pub fn upstream(cluster: &Cluster, options: &ManagerOptions) -> Self {
        let mut args = common_flags(cluster, options);
        args.extend(["--use-service-account-credentials=false".to_owned(), "--secure-port=0".to_owned()]);
        args.push(format!("--leader-elect-resource-name={}", LeaderElection::LEASE));
        args.extend(cluster.manager_flag(Kind::Upstream));
        args.extend(options.flags.iter().cloned());
        let program = binaries::servers().kube_controller_manager();
        Self {
            kind: Kind::Upstream,
            process: start("kube-controller-manager", &program, cluster, &options.environment, args),
            port: 0,
            pages: None,
        }
    }

    /// Starts ours, and waits for `/readyz`.
    pub async fn ours(cluster: &Cluster, options: &ManagerOptions) -> Self {
        Self::start(Kind::Ours, cluster, options).await
    }

    /// Starts ours, without waiting.
    pub fn ours_unready(cluster: &Cluster, options: &ManagerOptions) -> Self {
        // Without a kubeconfig for authentication every client is anonymous.
        let open = format!("--authorization-always-allow-paths={OPEN_PATHS}");
        Self::serving(Kind::Ours, cluster, options, [open])
    }

    /// Starts a manager whose metrics every client may read. Returns when ours is ready, or upstream has its port: a request
    /// would be counted in the metrics.
    pub async fn observed(kind: Kind, cluster: &Cluster, options: &ManagerOptions) -> Self {
        if kind == Kind::Ours {
            return Self::ours(cluster, options).await;
        }
        let flags = [
            "--use-service-account-credentials=false".to_owned(),
            format!("--leader-elect-resource-name={}", LeaderElection::LEASE),
            format!("--authorization-always-allow-paths={OPEN_PATHS}"),
        ];
        let manager = Self::serving(kind, cluster, options, flags);
        let connect = || TcpStream::connect((Ipv4Addr::LOCALHOST, manager.port));
        wait::until("kube-controller-manager to serve", LIMIT, connect).await;
        manager
    }

    /// Starts a manager with delegated authentication and authorization, as a cluster would: it asks the API server as
    /// `delegate`. Waits until the controllers run.
    pub async fn delegating(kind: Kind, cluster: &Cluster, options: &ManagerOptions, delegate: User) -> Self {
        let kubeconfig = cluster.kubeconfig(delegate);
        let flag = |what: &str| format!("--{what}-kubeconfig={}", kubeconfig.display());
        let flags = [flag("authentication"), flag("authorization")];
        let mut manager = Self::serving(kind, cluster, options, flags);
        manager.runs(options.controllers).await;
        manager
    }

    /// Waits until the controllers run.
    async fn runs(&mut self, controllers: &[Controller]) {
        let is_named =
            |text: &str, controller: &Controller| text.contains(&format!("[+]{} ok", controller.name()));
        let run = |text: &str| controllers.iter().all(|controller| is_named(text, controller));
        self.answers("/healthz?verbose", run).await;
    }

    /// Starts a manager with the defaults of all flags, as an operator does: elected, and serving with delegated
    /// authentication and authorization. Its flags name only the API server, a free port on loopback, and what upstream
    /// needs to do the same work. Waits until it is ready, or, for upstream, until its controllers run.
    pub async fn with_defaults(kind: Kind, cluster: &Cluster) -> Self {
        let mut manager = Self::at_a_free_port(kind, cluster, &Environment::default(), |port| {
            default_flags(kind, cluster, port)
        });
        match kind {
            Kind::Ours => manager.ready().await,
            Kind::Upstream => manager.runs(Controller::ALL).await,
        }
        manager
    }

    fn serving(
        kind: Kind,
        cluster: &Cluster,
        options: &ManagerOptions,
        flags: impl IntoIterator<Item = String>,
    ) -> Self {
        Self::at_a_free_port(kind, cluster, &options.environment, |port| {
            let mut args = common_flags(cluster, options);
            args.extend([format!("--secure-port={port}"), "--bind-address=127.0.0.1".to_owned()]);
            args.extend(cluster.manager_flag(kind));
            args.extend(flags);
            args.extend(options.flags.iter().cloned());
            args
        })
    }

    fn at_a_free_port(
        kind: Kind,
        cluster: &Cluster,
        environment: &Environment,
        flags: impl FnOnce(u16) -> Vec<String>,
    ) -> Self {
        let [port] = ports::free();
        let (name, program) = match kind {
            Kind::Upstream => ("kube-controller-manager", binaries::servers().kube_controller_manager()),
            Kind::Ours => ("endpoint-controller-manager", binaries::endpoint_controller_manager()),
        };
        Self {
            kind,
            process: start(name, &program, cluster, environment, flags(port)),
            port,
            pages: Some(Pages::anonymous(port)),
        }
    }

    /// Waits until `/readyz` of ours answers 200.
    pub async fn ready(&mut self) {
        self.answers("/readyz", |_| true).await;
    }

    /// Waits for a page with status 200 and an expected text.
    async fn answers(&mut self, path: &str, is_expected: impl Fn(&str) -> bool) {
        let pages = self.pages().clone();
        let (pages, is_expected) = (&pages, &is_expected);
        wait::until(path, LIMIT, || {
            self.process.alive().unwrap_or_else(|error| panic!("{error}"));
            let tail = self.process.tail();
            async move {
                match pages.get(path).await {
                    Ok(page) if page.status == 200 && is_expected(&page.text) => Ok(()),
                    Ok(page) => Err(format!("{} {}; {tail}", page.status, page.text)),
                    Err(error) => Err(format!("{error}; {tail}")),
                }
            }
        })
        .await;
    }

    /// The port on loopback; 0 if the manager does not serve.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The manager's own pages, as an anonymous client.
    pub fn pages(&self) -> &Pages {
        self.pages.as_ref().expect("upstream serves only with the flags for it")
    }

    /// Gets the metrics.
    pub async fn scrape(&self) -> Page {
        wait::until("metrics", LIMIT, || async {
            match self.pages().get("/metrics").await? {
                page if page.status == 200 => Ok(page),
                page => Err(format!("{}: {}", page.status, page.text)),
            }
        })
        .await
    }

    /// Gets a path: status and body.
    pub async fn get(&self, path: &str) -> (u16, String) {
        let page = wait::until(path, LIMIT, || self.pages().get(path)).await;
        (page.status, page.text)
    }

    /// Sends SIGTERM and waits for the exit.
    pub async fn stop(self) -> ExitStatus {
        self.stop_with("TERM").await
    }

    /// Sends a signal and waits for the exit.
    pub async fn stop_with(mut self, signal: &str) -> ExitStatus {
        self.process.signal(signal);
        self.process.ended(LIMIT).await
    }

    /// The name of the program, with which its user agent begins.
    pub fn name(&self) -> &'static str {
        self.process.name()
    }

    /// The program that this manager runs.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// The process, with its log and resource usage.
    pub fn process(&mut self) -> &mut Process {
        &mut self.process
    }

    /// CPU time and memory so far.
    pub fn usage(&self) -> Usage {
        self.process.usage()
    }

    /// The same; none if it has exited meanwhile.
    pub fn usage_if_running(&self) -> Option<Usage> {
        self.process.usage_if_running()
    }
}

fn start(
    name: &'static str,
    program: &Path,
    cluster: &Cluster,
    environment: &Environment,
    args: Vec<String>,
) -> Process {
    Process::start_in(name, program, cluster.folder(), args, environment)
}

/// The flags of [`Manager::with_defaults`].
fn default_flags(kind: Kind, cluster: &Cluster, port: u16) -> Vec<String> {
    let kubeconfig = cluster.kubeconfig(User::EndpointControllers);
    let kubeconfig = |what: &str| format!("--{what}kubeconfig={}", kubeconfig.display());
    let mut flags = ["", "authentication-", "authorization-"].map(kubeconfig).to_vec();
    flags.extend([format!("--secure-port={port}"), "--bind-address=127.0.0.1".to_owned()]);
    if kind == Kind::Upstream {
        // It has more controllers, and a Lease that our user may not write.
        flags.push(format!("--controllers={}", Controller::list(Controller::ALL)));
        flags.push(format!("--leader-elect-resource-name={}", LeaderElection::LEASE));
    }
    flags
}

fn common_flags(cluster: &Cluster, options: &ManagerOptions) -> Vec<String> {
    let kubeconfig = options.kubeconfig.clone().unwrap_or_else(|| cluster.kubeconfig(options.user));
    let controllers = || Controller::list(options.controllers);
    let controllers = options.controllers_flag.clone().unwrap_or_else(controllers);
    let mut flags = vec![
        format!("--kubeconfig={}", kubeconfig.display()),
        format!("--controllers={controllers}"),
        format!("--kube-api-qps={}", options.qps),
        format!("--kube-api-burst={}", options.qps),
        format!("--max-endpoints-per-slice={}", options.max_endpoints_per_slice),
        format!("--mirroring-max-endpoints-per-subset={}", options.max_endpoints_per_subset),
        format!("--endpointslice-updates-batch-period={}ms", options.batch_period.as_millis()),
        "-v=2".to_owned(),
    ];
    let no_election = || vec!["--leader-elect=false".to_owned()];
    flags.extend(options.leader_election.map_or_else(no_election, LeaderElection::flags));
    flags
}

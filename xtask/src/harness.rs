//! Long runs on real servers: builds what each needs, then runs a program or a scenario of `tests`.

use crate::shell::{self, Error};

/// A run by the name of its command.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Harness {
    /// Make every alert of deploy/monitoring but four fire by a real fault (6 minutes)
    ///
    /// Two replicas, a real API server, and Debian's Prometheus, which scrapes over TLS with a token. Runs the commands of each
    /// runbook while its alert fires, and all queries of the dashboard.
    Alerts,
    /// Measure a start with a million pods, and then 10,000 events of pods per second
    ///
    /// The cluster is generated: a small server on loopback takes the place of the API server.
    BenchMillion(Words),
    /// Run `handover` and `rollback` between real processes, both ways (40 seconds each round)
    ///
    /// The drill of docs/operate/adopting.md. Every second time the command is killed at each step. Fails if Endpoints or
    /// EndpointSlices are written because of it, and prints the longest time without a writer.
    HandoverDrill {
        /// Number of migrations each way
        #[arg(default_value_t = 20, value_parser = clap::value_parser!(u64).range(1..))]
        rounds: u64,
    },
    /// Flood an API server with requests of other clients under two leaders
    ///
    /// The leader with the FlowSchemas of deploy/ keeps its Lease, the one without them loses it. The load is bounded: 100 requests at
    /// a time, each of which waits for an admission webhook that does not respond, on an API server that serves 40 at a time.
    PriorityFlood {
        /// Length of the flood in minutes
        #[arg(default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..1000))]
        minutes: u64,
    },
    /// Run `audit`, `explain` and `shadow` under random operations alongside kube-controller-manager (200 operations in 2 minutes)
    ///
    /// The oracle must confirm every finding of `audit` that is more than worth knowing, every verdict of `explain` must be what is
    /// written; for `shadow`, no difference may outlast the grace period, and no request may be a write.
    Readers {
        /// Number of traces
        #[arg(long, default_value_t = 10)]
        traces: u64,
        /// Seed of the first trace
        #[arg(long, default_value_t = 0)]
        seed: u64,
        /// Number of operations of each trace
        #[arg(long, default_value_t = 500, value_parser = clap::value_parser!(u64).range(5..))]
        operations: u64,
    },
    /// Run random operations and faults from outside on two real API servers
    ///
    /// kube-controller-manager works on one, endpoint-controller-manager on the other. Whenever the faults have ceased, the
    /// simulator's oracle counts wrong objects on both.
    SoakFaults(Words),
    /// List a million pods at a takeover: once, and without losing the Lease (on a paused clock)
    TakeoverAtAMillion,
}

/// The arguments that a program of `tests` reads itself.
#[derive(Debug, clap::Args)]
#[command(disable_help_flag = true)]
pub(crate) struct Words {
    /// Options of the program; --help prints them
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    words: Vec<String>,
}

/// A variable of the environment.
type Variable = (&'static str, String);

impl Words {
    /// Builds what the program needs, unless it only prints its help.
    fn unless_help(
        &self,
        build: impl FnOnce() -> Result<Vec<Variable>, Error>,
    ) -> Result<Vec<Variable>, Error> {
        if self.words.iter().any(|word| word == "--help" || word == "-h") { Ok(Vec::new()) } else { build() }
    }
}

/// The servers, and the program as it is shipped.
fn shipped() -> Result<Vec<Variable>, Error> {
    Ok(vec![servers()?, release_build()?])
}

/// Builds what a run needs, and runs it. `ECM_BIN` names another build of the program.
///
/// # Errors
/// If something can't be built, or the run fails.
pub(crate) fn run(harness: Harness) -> Result<(), Error> {
    match harness {
        Harness::Alerts => {
            let tool = |name| shell::path(&["hack/lib/tool", name]);
            let tools = [("PROMETHEUS", tool("prometheus")?), ("PROMTOOL", tool("promtool")?)];
            program("alerts", &[], &[&[servers()?, debug_build()?][..], &tools].concat())
        }
        Harness::BenchMillion(words) => {
            measure("million", &words.words, &words.unless_help(|| Ok(vec![release_build()?]))?)
        }
        Harness::HandoverDrill { rounds } => {
            scenario("handover::the_writer_changes", vec![number("HANDOVER_ROUNDS", rounds)])
        }
        Harness::PriorityFlood { minutes } => {
            scenario("deploy::priority::a_flood", vec![number("PRIORITY_FLOOD_MINUTES", minutes)])
        }
        Harness::Readers { traces, seed, operations } => {
            let traces = [number("READERS_TRACES", traces), number("READERS_SEED", seed)];
            scenario("readers::", [&traces[..], &[number("READERS_OPERATIONS", operations)]].concat())
        }
        Harness::SoakFaults(words) => program("soak", &words.words, &words.unless_help(shipped)?),
        Harness::TakeoverAtAMillion => {
            let test = ["-p", "endpoint-informers", "--lib", "takeover", "--", "--ignored", "--nocapture"];
            Err(shell::exec(&[&["cargo", "test", "--locked", "--release"][..], &test].concat(), &[]))
        }
    }
}

fn number(name: &'static str, value: u64) -> Variable {
    (name, value.to_string())
}

/// The servers, minutes the first time.
fn servers() -> Result<Variable, Error> {
    Ok(("KUBEBUILDER_ASSETS", shell::path(&["hack/testenv/build"])?))
}

/// The program for a comparison of results, as `cargo test` builds it.
fn debug_build() -> Result<Variable, Error> {
    let programs = ["-p", "endpoint-controller-manager", "-p", "kubectl-endpoints"];
    build("debug", &[&["--profile", "test"][..], &programs].concat())
}

/// The program for a measurement, as it is shipped.
fn release_build() -> Result<Variable, Error> {
    build("release", &["--release", "-p", "endpoint-controller-manager"])
}

fn build(directory: &str, options: &[&str]) -> Result<Variable, Error> {
    if let Ok(given) = std::env::var("ECM_BIN") {
        // What reads it may run in another directory than the caller's.
        let path =
            std::path::absolute(&given).map_err(|error| Error::Other(format!("ECM_BIN={given}: {error}")))?;
        return Ok(("ECM_BIN", path.display().to_string()));
    }
    shell::run(&[&["cargo", "build", "--locked"][..], options].concat(), &[])?;
    Ok(("ECM_BIN", format!("{}/{directory}/endpoint-controller-manager", shell::target_directory()?)))
}

/// Runs a program of `tests`.
fn program(name: &str, words: &[String], variables: &[Variable]) -> Result<(), Error> {
    built("debug", &["--profile", "test"], name, words, variables)
}

/// Runs a program of `tests` that shares the processors with what it measures: compiled for speed, but not for minutes.
fn measure(name: &str, words: &[String], variables: &[Variable]) -> Result<(), Error> {
    let profile = [
        "--profile=measuring",
        "--config=profile.measuring.inherits='release'",
        "--config=profile.measuring.opt-level=1",
        "--config=profile.measuring.lto='off'",
        "--config=profile.measuring.codegen-units=16",
    ];
    built("measuring", &profile, name, words, variables)
}

fn built(
    directory: &str,
    profile: &[&str],
    name: &str,
    words: &[String],
    variables: &[Variable],
) -> Result<(), Error> {
    shell::run(&[&["cargo", "build", "--locked", "-p", "tests", "--bin", name], profile].concat(), &[])?;
    let program = format!("{}/{directory}/{name}", shell::target_directory()?);
    let words = std::iter::once(&program).chain(words).map(String::as_str);
    Err(shell::exec_here(&words.collect::<Vec<_>>(), &borrowed(variables)))
}

/// Runs scenarios of `tests` with debug builds on real servers.
fn scenario(filter: &str, variables: Vec<Variable>) -> Result<(), Error> {
    let variables = [variables, vec![servers()?, debug_build()?]].concat();
    let test = ["cargo", "test", "--locked", "--quiet", "-p", "tests", "--test", "it", filter];
    let arguments = ["--", "--nocapture", "--test-threads=1"];
    Err(shell::exec(&[&test[..], &arguments].concat(), &borrowed(&variables)))
}

fn borrowed(variables: &[Variable]) -> Vec<(&'static str, &str)> {
    variables.iter().map(|(name, value)| (*name, value.as_str())).collect()
}

//! The command line of `audit`.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::time::Duration;

use clap::{Command, CommandFactory as _, Parser};
use cli_runtime::usage::Usage;
use endpoint_diagnostics::audit::{Options, Severity, rules};
use go_text::duration::parse_go_duration;

use crate::exit;
use crate::flags::{self, Target};
use crate::format::{self, Format, Forms};
use crate::name::USAGE;

/// The word that selects this subcommand.
pub(crate) const NAME: &str = "audit";

const ABOUT: &str = "Finds what is wrong with the Endpoints and EndpointSlices of a cluster, or of a dump: duplicates, \
                     orphans, pods that are gone, two managers, what a controller's start would delete, and more. Writes \
                     nothing without --fix or --touch";

const EXAMPLES: &str = "Examples:
  kubectl endpoints audit                        # the whole cluster, read twice
  kubectl endpoints audit -n shop -o wide        # with remedies
  kubectl endpoints audit --rule=stale-pod --fix # repair what a rule finds; asks first
  kubectl endpoints audit --dns                  # in a pod: do the DNS servers follow the slices?
  kubectl endpoints audit --proxy                # on a node, as root: does kube-proxy?
  kubectl endpoints audit -f dump.yaml";

/// Longer than the 30 s for which kubeadm's CoreDNS caches answers.
const DNS_TIMEOUT: Duration = Duration::from_secs(40);

/// Longer than kube-proxy waits between two syncs, and a sync takes.
const PROXY_TIMEOUT: Duration = Duration::from_secs(10);

const SEVERITIES: Forms<Severity> =
    Forms(&[("error", Severity::Error), ("warning", Severity::Warning), ("info", Severity::Info)]);
const DRY_RUNS: Forms<DryRun> =
    Forms(&[("none", DryRun::None), ("client", DryRun::Client), ("server", DryRun::Server)]);

/// A checked command line.
#[derive(Debug, Parser)]
#[command(
    name = NAME,
    about = ABOUT,
    override_usage = format!("{USAGE} {NAME} [-n NAMESPACE] [-f FILE|DIRECTORY|-] [--fix] [flags]"),
    after_help = format!("{EXAMPLES}\n\n{}", exit::help()),
    next_help_heading = "Audit flags",
)]
pub(crate) struct Audit {
    /// Format of the result: table, wide (with fields and remedies), name, json or yaml
    #[arg(short = 'o', long = "output", value_name = "FORMAT", value_parser = format::NAMED, hide_possible_values = true, default_value = "table")]
    pub(crate) format: Format,
    /// Print tables without their headers
    #[arg(long)]
    pub(crate) no_headers: bool,
    /// Lightest severity that counts for the exit code: error, warning or info
    #[arg(long, value_parser = SEVERITIES, hide_possible_values = true, default_value = "warning")]
    pub(crate) severity: Severity,
    /// Leave out findings below --severity
    #[arg(short, long)]
    pub(crate) quiet: bool,
    /// Rules to apply, separated by commas; all by default. docs/operate/audit.md lists them
    #[arg(long = "rule", value_name = "RULE", value_delimiter = ',', value_parser = rule)]
    pub(crate) rules: Vec<String>,
    /// Pause before the cluster is read again, if something was found; only what is found both times is reported. 0 reads once
    #[arg(long, value_name = "DURATION", value_parser = parse_go_duration, default_value = "5s")]
    pub(crate) confirm_after: Duration,
    /// Value of this flag of the EndpointSlice controller; without it, larger slices have severity info
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1000))]
    max_endpoints_per_slice: Option<u16>,
    /// Value of this flag of the EndpointSliceMirroring controller [default: 1000]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1000))]
    mirroring_max_endpoints_per_subset: Option<u16>,
    /// Repair what can be repaired: objects that the controllers own by their labels. Shows each write, and asks
    #[arg(long)]
    fix: bool,
    /// Do not ask before --fix or --touch writes
    #[arg(short, long)]
    yes: bool,
    /// With --fix or --touch: client only shows the writes, server lets the API server check them without storing them [default: none]
    #[arg(long, value_name = "none|client|server", value_parser = DRY_RUNS, hide_possible_values = true)]
    dry_run: Option<DryRun>,
    /// Also query DNS servers for headless Services, over TCP, and compare their answers with the slices. The servers are those
    /// of the Service kube-system/kube-dns, or of --dns-server
    #[arg(long)]
    dns: bool,
    /// DNS servers to query, separated by commas, such as a forwarded port
    #[arg(long = "dns-server", value_name = "IP:PORT", value_delimiter = ',')]
    dns_servers: Vec<SocketAddr>,
    /// Time for which an answer must be wrong before it is reported; longer than the servers cache answers [default: 40s]
    #[arg(long, value_name = "DURATION", value_parser = parse_go_duration)]
    dns_timeout: Option<Duration>,
    /// DNS domain of the cluster [default: cluster.local]
    #[arg(long, value_name = "DOMAIN")]
    cluster_domain: Option<String>,
    /// On a node, as root: also compare the rules of kube-proxy in nftables with the slices
    #[arg(long)]
    proxy: bool,
    /// Time for which rules must be wrong before they are reported [default: 10s]
    #[arg(long, value_name = "DURATION", value_parser = parse_go_duration)]
    proxy_timeout: Option<Duration>,
    /// With --dns or --proxy: update the slices on which a consumer is behind, so that all consumers get another event. Sets
    /// their annotation endpoints.kubernetes.io/last-change-trigger-time, which the controllers remove with their next write;
    /// endpoint-controller-manager removes it from mirrored slices at once, with one more event. Shows each write, and asks
    #[arg(long)]
    touch: bool,
    #[command(flatten)]
    pub(crate) target: Target,
}

/// The questions to DNS servers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Dns {
    /// None: those of the Service `kube-system/kube-dns`.
    pub(crate) servers: Vec<SocketAddr>,
    /// The time for which an answer must be wrong.
    pub(crate) timeout: Duration,
    pub(crate) domain: String,
}

/// The extent of writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fix {
    /// Does not ask.
    pub(crate) yes: bool,
    pub(crate) dry_run: DryRun,
}

/// The value of `--dry-run`, with kubectl's meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DryRun {
    None,
    Client,
    Server,
}

impl Audit {
    /// The sizes that the controllers run with.
    pub(crate) fn options(&self) -> Options {
        Options {
            max_endpoints_per_slice: self.max_endpoints_per_slice.map(usize::from),
            max_endpoints_per_subset: self.mirroring_max_endpoints_per_subset.map(usize::from),
        }
    }

    /// The repairs to make, if any.
    pub(crate) fn fix(&self) -> Option<Fix> {
        self.fix.then(|| self.extent())
    }

    /// The slices to write once more, if any.
    pub(crate) fn touch(&self) -> Option<Fix> {
        self.touch.then(|| self.extent())
    }

    fn extent(&self) -> Fix {
        Fix { yes: self.yes, dry_run: self.dry_run.unwrap_or(DryRun::None) }
    }

    /// The time for which rules of kube-proxy must be wrong, if they are to be compared.
    pub(crate) fn proxy(&self) -> Option<Duration> {
        self.proxy.then(|| self.proxy_timeout.unwrap_or(PROXY_TIMEOUT))
    }

    /// The questions to DNS servers, if any.
    pub(crate) fn dns(&self) -> Option<Dns> {
        self.dns.then(|| Dns {
            servers: self.dns_servers.clone(),
            timeout: self.dns_timeout.unwrap_or(DNS_TIMEOUT),
            domain: self.cluster_domain.clone().unwrap_or_else(|| "cluster.local".to_owned()),
        })
    }

    fn check(&self) -> Result<(), String> {
        self.target.check()?;
        let needs_dns = [
            ("--dns-server", !self.dns_servers.is_empty()),
            ("--dns-timeout", self.dns_timeout.is_some()),
            ("--cluster-domain", self.cluster_domain.is_some()),
        ];
        flags::need("--dns", self.dns, &needs_dns)?;
        if let Some(domain) = self.cluster_domain.as_deref().filter(|domain| !is_domain(domain)) {
            return Err(format!("--cluster-domain: {domain:?} is not a domain, such as cluster.local"));
        }
        if self.dns && self.target.namespace.is_some() && self.dns_servers.is_empty() {
            return Err(
                "--dns with -n needs --dns-server: the servers are those of kube-system/kube-dns".to_owned()
            );
        }
        flags::need("--proxy", self.proxy, &[("--proxy-timeout", self.proxy_timeout.is_some())])?;
        let of_clusters = [
            ("--dns", self.dns, "files have no DNS servers"),
            ("--proxy", self.proxy, "files have no kube-proxy"),
            ("--fix", self.fix, "files are not repaired"),
        ];
        match of_clusters.iter().find(|(_, is_given, _)| *is_given) {
            Some((flag, _, why)) if !self.target.files.is_empty() => {
                Err(format!("{flag} and -f exclude each other: {why}"))
            }
            _ => self.check_writes(),
        }
    }

    fn check_writes(&self) -> Result<(), String> {
        flags::need("--dns or --proxy", self.dns || self.proxy, &[("--touch", self.touch)])?;
        let of_writes = [("--yes", self.yes), ("--dry-run", self.dry_run.is_some())];
        flags::need("--fix or --touch", self.fix || self.touch, &of_writes)?;
        if (self.fix || self.touch) && (self.format.is_document() || self.format == Format::Name) {
            let flag = if self.fix { "--fix" } else { "--touch" };
            return Err(format!("{flag} prints a table: -o may be table or wide"));
        }
        Ok(())
    }
}

/// Reads the words after the name of the subcommand.
///
/// # Errors
/// The text or the message to print instead.
pub(crate) fn parse(words: &[OsString]) -> Result<Audit, Usage> {
    let mut audit: Audit = flags::parse(command(), words)?;
    audit.check().map_err(Usage::Error)?;
    // Unlike a question about one Service, hygiene is one of the whole cluster.
    audit.target.all_namespaces = audit.target.namespace.is_none();
    Ok(audit)
}

/// The command.
pub(crate) fn command() -> Command {
    Audit::command()
        .mut_arg("namespace", |arg| {
            arg.help("Namespace to read, for which permissions in it are enough; by default all")
        })
        .mut_arg("all_namespaces", |arg| arg.help("Read all namespaces, which is the default"))
}

fn is_domain(text: &str) -> bool {
    !text.is_empty() && simple_dns::Name::new(text).is_ok()
}

fn rule(text: &str) -> Result<String, String> {
    if rules().any(|rule| rule.id == text) {
        Ok(text.to_owned())
    } else {
        let ids: Vec<&str> = rules().map(|rule| rule.id).collect();
        Err(format!("must be one of {}", ids.join(", ")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Audit, String> {
        let words: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
        parse(&words).map_err(|(Usage::Error(text) | Usage::Print(text))| text)
    }

    #[test]
    fn the_defaults_read_all_namespaces_and_write_nothing() {
        let audit = parsed("").unwrap();
        assert!(audit.target.all_namespaces && audit.target.files.is_empty() && audit.rules.is_empty());
        assert_eq!((audit.severity, audit.format, audit.fix()), (Severity::Warning, Format::Table, None));
        assert_eq!(audit.confirm_after, Duration::from_secs(5));
        assert_eq!(audit.options(), Options::default());
        // A script may have nothing to say.
        let audit = parsed("--namespace= --context= --as=").unwrap();
        assert_eq!(audit.target, Target { all_namespaces: true, ..Target::default() });
    }

    #[test]
    fn flags_are_kubectls_and_the_controllers() {
        let audit = parsed(
            "-n shop -o wide --severity=info -q --rule stale-pod,slice-owner --fix -y --dry-run=server",
        )
        .unwrap();
        assert_eq!(audit.target.namespace.as_deref(), Some("shop"));
        assert_eq!((audit.severity, audit.quiet, audit.format), (Severity::Info, true, Format::Wide));
        assert_eq!(audit.rules, ["stale-pod", "slice-owner"]);
        assert_eq!(audit.fix(), Some(Fix { yes: true, dry_run: DryRun::Server }));
        let dns =
            parsed("--dns -n shop --dns-server=127.0.0.1:5353 --cluster-domain=x.example").unwrap().dns();
        assert_eq!(
            dns,
            Some(Dns {
                servers: vec![SocketAddr::from(([127, 0, 0, 1], 5353))],
                timeout: DNS_TIMEOUT,
                domain: "x.example".to_owned(),
            })
        );
        let audit = parsed("--proxy --touch -y").unwrap();
        assert_eq!((audit.proxy(), audit.dns(), audit.fix()), (Some(PROXY_TIMEOUT), None, None));
        assert_eq!(audit.touch(), Some(Fix { yes: true, dry_run: DryRun::None }));
        let audit = parsed("--max-endpoints-per-slice=500 --confirm-after=0 -f dump.yaml").unwrap();
        assert_eq!(audit.options().max_endpoints_per_slice, Some(500));
        assert_eq!((audit.confirm_after, audit.target.files), (Duration::ZERO, vec!["dump.yaml".to_owned()]));
    }
}

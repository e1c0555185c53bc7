//! The command line of `explain`.

use std::convert::Infallible;
use std::ffi::OsString;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use clap::{Command, CommandFactory as _, Parser};
use cli_runtime::usage::Usage;
use embedded_apiserver::LabelSelector;
use go_text::duration::parse_go_duration;

use crate::exit;
use crate::flags::{self, Target};
use crate::format::{self, Format};
use crate::loopback;
use crate::name::USAGE;

/// The word that selects this subcommand.
pub(crate) const NAME: &str = "explain";

/// The address of a shared page.
const SHARED: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), 8443);

const ABOUT: &str = "Shows for each pod of a Service whether it is in the EndpointSlices and Endpoints, and if not, why. \
                     Reads only. Without SERVICE, lists all Services of the namespace";

const EXAMPLES: &str = "Examples:
  kubectl endpoints explain web -n shop                  # each pod of a Service
  kubectl endpoints explain -A                           # all Services: do they get traffic, is the controller right
  kubectl endpoints explain -n shop -l team=payments -w  # some Services, and each change
  kubectl endpoints explain web --wait=ready --timeout=5m
  kubectl get services,pods,nodes,endpoints,endpointslices -A -o yaml | kubectl endpoints explain -f -";

/// A page to serve.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Page {
    /// For the user who starts the program, at a loopback address.
    Own(SocketAddr),
    /// For the users of the cluster.
    Shared {
        /// The address to listen at.
        listen: SocketAddr,
        /// The files of the certificate and its key; none for a self-signed one.
        certificate: Option<(PathBuf, PathBuf)>,
    },
}

/// A state to wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Wait {
    pub(crate) state: State,
    pub(crate) timeout: Duration,
}

/// A state of a Service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// Every pod that has not ended and is not being deleted is ready, at least one, and slices and Endpoints show it.
    Ready,
    /// At least this number of pods is ready in slices and Endpoints.
    AtLeast(usize),
}

/// A checked command line.
#[derive(Debug, Parser)]
#[command(
    name = NAME,
    about = ABOUT,
    override_usage = format!("{USAGE} {NAME} [SERVICE...] [-n NAMESPACE | -A] [-f FILE|DIRECTORY|-] [flags]"),
    after_help = format!("{EXAMPLES}\n\n{}", exit::help()),
    next_help_heading = "Explanation flags",
)]
pub(crate) struct Explanation {
    /// Names of Services, also as service/NAME; shows each of their pods
    #[arg(value_name = "SERVICE", value_parser = bare)]
    pub(crate) services: Vec<String>,
    /// Label selector of the Services, such as app=web,tier!=test
    #[arg(short = 'l', long, value_name = "LABELS", value_parser = LabelSelector::parse)]
    pub(crate) selector: Option<LabelSelector>,
    /// Format of the result: table, wide (with nodes, addresses and remedies), name, json or yaml [default: table]
    #[arg(short, long, value_name = "FORMAT", value_parser = format::NAMED, hide_possible_values = true)]
    output: Option<Format>,
    /// Print tables without their headers
    #[arg(long)]
    pub(crate) no_headers: bool,
    /// After the result, print each Service that changes, until Ctrl-C
    #[arg(short, long)]
    pub(crate) watch: bool,
    /// Wait until all pods of the Services, or N of each, are ready in slices and Endpoints
    #[arg(long, value_name = "ready|N", value_parser = state)]
    wait: Option<State>,
    /// Longest wait of --wait, such as 90s or 5m [default: 30s]
    #[arg(long, value_name = "DURATION", value_parser = parse_go_duration)]
    timeout: Option<Duration>,
    /// Serve a page for a browser on this machine, until Ctrl-C: all Services of the namespace, or with -A of the cluster, with
    /// their pods, slices and reasons. It follows the changes of a cluster
    #[arg(long)]
    serve: bool,
    /// Address and port for --serve: on loopback, where port 0 chooses a free one [default: 127.0.0.1:0]; with --shared, any
    /// [default: 0.0.0.0:8443]
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<String>,
    /// Serve the page to the users of the cluster: over HTTPS, to those whose token the API server knows and who may get the
    /// path /endpoints/*
    #[arg(long)]
    shared: bool,
    /// Certificate for --shared, in PEM [default: a self-signed one]
    #[arg(long, value_name = "FILE")]
    tls_cert_file: Option<PathBuf>,
    /// Private key of --tls-cert-file, in PEM
    #[arg(long, value_name = "FILE")]
    tls_private_key_file: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) target: Target,
    /// The page, if one is to be served instead of a result.
    #[arg(skip)]
    pub(crate) page: Option<Page>,
}

impl Explanation {
    /// True if each pod is shown.
    pub(crate) fn is_detailed(&self) -> bool {
        !self.services.is_empty()
    }

    pub(crate) fn format(&self) -> Format {
        self.output.unwrap_or(Format::Table)
    }

    pub(crate) fn wait(&self) -> Option<Wait> {
        let timeout = self.timeout.unwrap_or(Duration::from_secs(30));
        self.wait.map(|state| Wait { state, timeout })
    }

    fn check(&self) -> Result<(), String> {
        self.target.check()?;
        let (is_waiting, has_files) = (self.wait.is_some(), !self.target.files.is_empty());
        flags::exclude("-l", self.selector.is_some(), &[("names of Services", self.is_detailed())])?;
        flags::exclude("--watch", self.watch, &[("--wait", is_waiting), ("-f", has_files)])?;
        flags::need("--wait", is_waiting, &[("--timeout", self.timeout.is_some())])?;
        if is_waiting && !self.is_detailed() {
            return Err("--wait needs the name of a Service".to_owned());
        }
        if is_waiting && has_files {
            return Err("--wait and -f exclude each other: files do not change".to_owned());
        }
        Ok(())
    }

    /// The page of `--serve`.
    fn page(&self) -> Result<Option<Page>, String> {
        let of_page = [
            ("--listen", self.listen.is_some()),
            ("--shared", self.shared),
            ("--tls-cert-file", self.tls_cert_file.is_some()),
            ("--tls-private-key-file", self.tls_private_key_file.is_some()),
        ];
        flags::need("--serve", self.serve, &of_page)?;
        if !self.serve {
            return Ok(None);
        }
        let others = [
            ("names of Services", self.is_detailed()),
            ("-o", self.output.is_some()),
            ("--wait", self.wait.is_some()),
            ("-l", self.selector.is_some()),
            ("--watch", self.watch),
        ];
        flags::exclude("--serve", self.serve, &others)?;
        if self.tls_cert_file.is_some() != self.tls_private_key_file.is_some() {
            return Err("--tls-cert-file and --tls-private-key-file need each other".to_owned());
        }
        let certificate = self.tls_cert_file.clone().zip(self.tls_private_key_file.clone());
        if self.shared {
            if !self.target.files.is_empty() {
                return Err("--shared and -f exclude each other: the cluster knows the users".to_owned());
            }
            return Ok(Some(Page::Shared { listen: shared_address(self.listen.as_deref())?, certificate }));
        }
        flags::need("--shared", self.shared, &[("--tls-cert-file", certificate.is_some())])?;
        let listen = self.listen.as_deref().map_or(Ok(loopback::FREE_PORT), loopback::parse);
        listen.map(|listen| Some(Page::Own(listen))).map_err(|requirement| format!("--listen {requirement}"))
    }
}

/// Reads the words after the name of the subcommand.
///
/// # Errors
/// The text or the message to print instead.
pub(crate) fn parse(words: &[OsString]) -> Result<Explanation, Usage> {
    let mut explanation: Explanation = flags::parse(command(), words)?;
    explanation.page = explanation.page().map_err(Usage::Error)?;
    explanation.check().map_err(Usage::Error)?;
    Ok(explanation)
}

/// The command.
pub(crate) fn command() -> Command {
    Explanation::command()
}

fn shared_address(given: Option<&str>) -> Result<SocketAddr, String> {
    let address = given.map_or(Ok(SHARED), str::parse);
    address.map_err(|_| "--listen must be an address and a port, such as 0.0.0.0:8443".to_owned())
}

/// The name in `service/NAME`.
#[expect(clippy::unnecessary_wraps, reason = "the form of parsers")]
fn bare(name: &str) -> Result<String, Infallible> {
    let kinds = ["service/", "services/", "svc/"];
    Ok(kinds.iter().find_map(|kind| name.strip_prefix(kind)).unwrap_or(name).to_owned())
}

fn state(text: &str) -> Result<State, String> {
    match text.parse::<usize>() {
        Ok(count) => Ok(State::AtLeast(count)),
        Err(_) if text == "ready" => Ok(State::Ready),
        Err(_) => Err("must be ready or a number".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn parsed(line: &str) -> Result<Explanation, String> {
        let words: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
        parse(&words).map_err(|(Usage::Error(text) | Usage::Print(text))| text)
    }

    #[test]
    fn services_may_be_named_as_by_kubectl() {
        let explanation = parsed("web service/api svc/db -n shop --context=dev -o wide").unwrap();
        assert_eq!(explanation.services, ["web", "api", "db"]);
        assert_eq!(explanation.target.namespace.as_deref(), Some("shop"));
        assert_eq!(explanation.target.cluster.context.as_deref(), Some("dev"));
        assert_eq!((explanation.format(), explanation.wait()), (Format::Wide, None));
        assert!(!explanation.no_headers && !explanation.watch);
        assert!(explanation.is_detailed() && !parsed("-A").unwrap().is_detailed());
        let explanation =
            parsed("-l app=web --no-headers -w --as=me --as-group=a --request-timeout=5").unwrap();
        assert!(explanation.no_headers && explanation.watch);
        assert!(!explanation.selector.unwrap().selects(&BTreeMap::new()));
        let cluster = explanation.target.cluster;
        assert_eq!(
            (cluster.user.as_deref(), cluster.groups.as_slice()),
            (Some("me"), ["a".to_owned()].as_slice())
        );
        assert_eq!(cluster.request_timeout, Some(Duration::from_secs(5)));
    }

    #[test]
    fn a_wait_has_a_state_and_a_limit() {
        let wait = |line: &str| parsed(line).unwrap().wait().map(|wait| (wait.state, wait.timeout.as_secs()));
        assert_eq!(wait("web --wait=ready"), Some((State::Ready, 30)));
        assert_eq!(wait("web --wait 3 --timeout 5m"), Some((State::AtLeast(3), 300)));
    }

    #[test]
    fn a_page_shows_all_services_on_loopback() {
        let page = |line: &str| match parsed(line).unwrap().page {
            Some(Page::Own(address)) => Some(address.to_string()),
            Some(shared @ Page::Shared { .. }) => panic!("{shared:?}"),
            None => None,
        };
        assert_eq!(page("-A"), None);
        assert_eq!(page("-A --serve").as_deref(), Some("127.0.0.1:0"));
        assert_eq!(page("-f a --serve --listen=[::1]:80").as_deref(), Some("[::1]:80"));
    }

    #[test]
    fn a_shared_page_listens_everywhere_and_knows_its_users_by_a_cluster() {
        let page = |line: &str| parsed(line).unwrap().page;
        let shared =
            |listen: &str, certificate| Some(Page::Shared { listen: listen.parse().unwrap(), certificate });
        assert_eq!(page("-A --serve --shared"), shared("0.0.0.0:8443", None));
        let certificate = Some(("a".into(), "b".into()));
        let line = "-A --serve --shared --listen=[::]:443 --tls-cert-file=a --tls-private-key-file=b";
        assert_eq!(page(line), shared("[::]:443", certificate));
    }
}

//! The command line.

use std::net::IpAddr;
use std::path::PathBuf;

use clap::builder::ValueParser;
use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};

use crate::reconciler::NAME;

/// The version, and the commit if the sources tell.
const VERSION: &str = concat!("v", env!("CARGO_PKG_VERSION"), " ", env!("ECM_COMMIT"));

/// The flags.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// `--kubeconfig`; without it, the service account of the pod.
    pub kubeconfig: Option<PathBuf>,
    /// `--kube-api-qps`.
    pub qps: f64,
    /// `--kube-api-burst`.
    pub burst: u32,
    /// `--leader-elect`.
    pub leader_elect: bool,
    /// `--leader-elect-resource-namespace`; without it, the namespace of the kubeconfig or service account.
    pub lease_namespace: Option<String>,
    /// `--bind-address`.
    pub bind_address: IpAddr,
    /// `--secure-port`; 0 serves nothing.
    pub secure_port: u16,
    /// `--tls-cert-file`.
    pub tls_cert_file: Option<PathBuf>,
    /// `--tls-private-key-file`.
    pub tls_private_key_file: Option<PathBuf>,
    /// `-v`.
    pub verbosity: u8,
}

/// The command, with its help.
pub fn command() -> Command {
    let file = |name, value, help| flag(name, value, help).value_parser(value_parser!(PathBuf));
    Command::new(NAME)
        .version(VERSION.trim_end())
        .about("Publishes the addresses that pods have in other networks as EndpointSlices")
        .arg(file(
            "kubeconfig",
            "FILE",
            "Kubeconfig of the cluster; without it, the service account of the pod",
        ))
        .arg(with_default(
            flag("kube-api-qps", "QPS", "Writes a second, and events a second; 0 sets no limit")
                .value_parser(ValueParser::new(qps)),
            "20",
        ))
        .arg(with_default(
            flag("kube-api-burst", "COUNT", "Writes that may be sent at once")
                .value_parser(value_parser!(u32).range(1..)),
            "30",
        ))
        .arg(
            with_default(
                flag("leader-elect", "BOOL", "Write only while this replica has the Lease")
                    .value_parser(value_parser!(bool)),
                "true",
            )
            .num_args(0..=1)
            .require_equals(true)
            .default_missing_value("true"),
        )
        .arg(flag(
            "leader-elect-resource-namespace",
            "NAMESPACE",
            "Namespace of the Lease; without it, that of the credentials",
        ))
        .arg(with_default(
            flag("bind-address", "ADDRESS", "Address of the HTTPS server")
                .value_parser(value_parser!(IpAddr)),
            "0.0.0.0",
        ))
        .arg(with_default(
            flag(
                "secure-port",
                "PORT",
                "Port of the HTTPS server with /metrics, /livez and /readyz; 0 serves nothing",
            )
            .value_parser(value_parser!(u16)),
            "10272",
        ))
        .arg(
            file("tls-cert-file", "FILE", "Certificate of the HTTPS server; without it, a self-signed one")
                .requires("tls-private-key-file"),
        )
        .arg(file("tls-private-key-file", "FILE", "Key of the certificate").requires("tls-cert-file"))
        .arg(
            with_default(
                flag(
                    "v",
                    "LEVEL",
                    "Verbosity of the log: 4 logs each sync, 6 each watch event, 8 also the HTTP libraries",
                )
                .value_parser(value_parser!(u8)),
                "0",
            )
            .short('v'),
        )
}

fn flag(name: &'static str, value: &'static str, help: &'static str) -> Arg {
    Arg::new(name).long(name).value_name(value).help(help).action(ArgAction::Set)
}

fn with_default(flag: Arg, default: &'static str) -> Arg {
    flag.default_value(default)
}

fn qps(text: &str) -> Result<f64, String> {
    let qps = text.parse::<f64>().ok().filter(|qps| qps.is_finite() && *qps >= 0.0);
    qps.ok_or_else(|| "must be a number of at least 0".to_owned())
}

impl From<&ArgMatches> for Options {
    fn from(matches: &ArgMatches) -> Self {
        let path = |name| matches.get_one::<PathBuf>(name).cloned();
        let or = |name, default: u32| matches.get_one(name).copied().unwrap_or(default);
        Self {
            kubeconfig: path("kubeconfig"),
            qps: matches.get_one("kube-api-qps").copied().unwrap_or_default(),
            burst: or("kube-api-burst", 1),
            leader_elect: matches.get_one("leader-elect").copied().unwrap_or_default(),
            lease_namespace: matches.get_one("leader-elect-resource-namespace").cloned(),
            bind_address: matches.get_one("bind-address").copied().unwrap_or(IpAddr::from([0, 0, 0, 0])),
            secure_port: matches.get_one("secure-port").copied().unwrap_or_default(),
            tls_cert_file: path("tls-cert-file"),
            tls_private_key_file: path("tls-private-key-file"),
            verbosity: matches.get_one("v").copied().unwrap_or_default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(words: &[&str]) -> Result<Options, clap::Error> {
        let words = [NAME].iter().chain(words);
        command().try_get_matches_from(words).map(|matches| Options::from(&matches))
    }

    #[test]
    fn the_defaults_are_those_of_kubernetes_components() {
        command().debug_assert();
        let options = parse(&[]).unwrap();
        assert!((options.qps - 20.0).abs() < 1e-9 && options.burst == 30, "{options:?}");
        assert!(options.leader_elect && options.secure_port == 10272, "{options:?}");
        assert!(!parse(&["--leader-elect=false"]).unwrap().leader_elect);
        assert!(parse(&["--leader-elect"]).unwrap().leader_elect);
        assert_eq!(parse(&["-v", "2"]).unwrap().verbosity, 2);
    }

    #[test]
    fn a_wrong_value_names_its_flag() {
        for (words, flag) in [
            (&["--kube-api-qps=NaN"][..], "--kube-api-qps"),
            (&["--kube-api-qps=-1"], "--kube-api-qps"),
            (&["--kube-api-burst=0"], "--kube-api-burst"),
            (&["--secure-port=70000"], "--secure-port"),
            (&["--bind-address=localhost"], "--bind-address"),
            (&["--leader-elect=perhaps"], "--leader-elect"),
            (&["--tls-cert-file=a"], "--tls-private-key-file"),
        ] {
            let error = parse(words).unwrap_err().to_string();
            assert!(error.contains(flag), "{words:?}: {error}");
        }
    }
}

//! The command line.

use std::net::IpAddr;
use std::path::PathBuf;

use clap::{ArgAction, Parser, value_parser};

use crate::reconciler::NAME;

/// The version, and the commit if the sources tell.
const VERSION: &str = concat!("v", env!("CARGO_PKG_VERSION"), " ", env!("ECM_COMMIT"));

const ABOUT: &str = "Publishes the addresses that pods have in other networks as EndpointSlices";

/// The flags.
#[derive(Clone, Debug, PartialEq, Parser)]
#[command(name = NAME, version = VERSION.trim_end(), about = ABOUT)]
pub struct Options {
    /// Kubeconfig of the cluster; without it, the service account of the pod
    #[arg(long, value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,
    /// Writes per second, and events per second; 0 means no limit
    #[arg(long = "kube-api-qps", value_name = "QPS", value_parser = qps, default_value = "20")]
    pub qps: f64,
    /// Burst of writes
    #[arg(long = "kube-api-burst", value_name = "COUNT", value_parser = value_parser!(u32).range(1..), default_value = "30")]
    pub burst: u32,
    /// Write only while this replica holds the Lease
    #[arg(long, value_name = "BOOL", action = ArgAction::Set, num_args = 0..=1, require_equals = true, default_value = "true", default_missing_value = "true")]
    pub leader_elect: bool,
    /// Namespace of the Lease; without it, that of the credentials
    #[arg(long = "leader-elect-resource-namespace", value_name = "NAMESPACE")]
    pub lease_namespace: Option<String>,
    /// Address of the HTTPS server
    #[arg(long, value_name = "ADDRESS", default_value = "0.0.0.0")]
    pub bind_address: IpAddr,
    /// Port of the HTTPS server with /metrics, /livez and /readyz; 0 serves nothing
    #[arg(long, value_name = "PORT", default_value = "10272")]
    pub secure_port: u16,
    /// Certificate of the HTTPS server; without it, a self-signed one
    #[arg(long, value_name = "FILE", requires = "tls_private_key_file")]
    pub tls_cert_file: Option<PathBuf>,
    /// Private key of --tls-cert-file
    #[arg(long, value_name = "FILE", requires = "tls_cert_file")]
    pub tls_private_key_file: Option<PathBuf>,
    /// Verbosity of the log: 4 logs each sync, 6 each watch event, 8 also the HTTP libraries
    #[arg(short = 'v', long = "v", value_name = "LEVEL", default_value = "0")]
    pub verbosity: u8,
}

fn qps(text: &str) -> Result<f64, String> {
    let qps = text.parse::<f64>().ok().filter(|qps| qps.is_finite() && *qps >= 0.0);
    qps.ok_or_else(|| "must be a number of at least 0".to_owned())
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    fn parse(words: &[&str]) -> Result<Options, clap::Error> {
        let words = [NAME].iter().chain(words);
        Options::try_parse_from(words)
    }

    #[test]
    fn the_defaults_are_those_of_kubernetes_components() {
        Options::command().debug_assert();
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

//! The configuration, checked and complete: everything else takes this form.

use std::net::SocketAddr;
use std::path::PathBuf;

use controller_runtime::api::Encoding;
use endpointslice_controller as slices;

use crate::controllers::{self, Controller};
use crate::options::Options;

/// Where the API server is and who we are to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ApiServer {
    pub(crate) kubeconfig: Option<PathBuf>,
    pub(crate) master: Option<http::Uri>,
}

/// Format of the logs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LogFormat {
    Text,
    Json,
}

/// What runs, and how.
#[derive(Clone, Debug)]
pub(crate) struct Config {
    pub(crate) api_server: ApiServer,
    pub(crate) encoding: Encoding,
    pub(crate) qps: f64,
    pub(crate) burst: u32,
    pub(crate) controllers: Vec<Controller>,
    pub(crate) endpointslice: slices::Config,
    pub(crate) metrics_address: SocketAddr,
    pub(crate) verbosity: u8,
    pub(crate) log_format: LogFormat,
}

impl TryFrom<Options> for Config {
    type Error = String;

    /// Checks ranges and meanings. The error names the flag.
    fn try_from(options: Options) -> Result<Self, String> {
        if options.leader_elect {
            return Err("--leader-elect: leader election is not available yet; \
                        run one replica and pass --leader-elect=false"
                .to_owned());
        }
        if !options.kube_api_qps.is_finite() {
            return Err("--kube-api-qps must be a number".to_owned());
        }
        Ok(Self {
            api_server: ApiServer {
                kubeconfig: (!options.kubeconfig.is_empty()).then(|| options.kubeconfig.into()),
                master: master(&options.master)?,
            },
            encoding: options
                .kube_api_content_type
                .parse()
                .map_err(|error| format!("--kube-api-content-type: {error}"))?,
            qps: options.kube_api_qps,
            burst: u32::try_from(options.kube_api_burst).unwrap_or_default(),
            controllers: controllers::selected(&options.controllers)?,
            endpointslice: slices::Config {
                workers: in_range(
                    "concurrent-service-endpoint-syncs",
                    options.concurrent_service_endpoint_syncs,
                    50,
                )?,
                max_endpoints_per_slice: in_range(
                    "max-endpoints-per-slice",
                    options.max_endpoints_per_slice,
                    1000,
                )?,
                batch_period: options.endpointslice_updates_batch_period,
            },
            metrics_address: loopback(&options.metrics_bind_address)?,
            verbosity: u8::try_from(options.verbosity.clamp(0, 10)).unwrap_or_default(),
            log_format: match options.logging_format.as_str() {
                "text" => LogFormat::Text,
                "json" => LogFormat::Json,
                other => return Err(format!("--logging-format: {other:?} is not text or json")),
            },
        })
    }
}

/// A number from 1 to `max`, with upstream's messages (`options/endpointslicecontroller.go` `Validate`).
fn in_range(flag: &str, value: i32, max: usize) -> Result<usize, String> {
    match usize::try_from(value) {
        Ok(number) if (1..=max).contains(&number) => Ok(number),
        Ok(number) if number > max => Err(format!("--{flag} must not be more than {max}, but got {value}")),
        _ => Err(format!("--{flag} must not be less than 1, but got {value}")),
    }
}

/// An address without a scheme is plain HTTP, as in client-go.
fn master(text: &str) -> Result<Option<http::Uri>, String> {
    if text.is_empty() {
        return Ok(None);
    }
    let url = if text.contains("://") { text.to_owned() } else { format!("http://{text}") };
    match url.parse::<http::Uri>() {
        Ok(uri) if matches!(uri.scheme_str(), Some("http" | "https")) && uri.host().is_some() => {
            Ok(Some(uri))
        }
        _ => Err(format!("--master: {text:?} is not the address of a server")),
    }
}

/// The server speaks plain HTTP to anybody, so it stays on this host.
fn loopback(text: &str) -> Result<SocketAddr, String> {
    let address: SocketAddr = text
        .parse()
        .map_err(|_| format!("--metrics-bind-address: {text:?} is not an address such as 127.0.0.1:10260"))?;
    if address.ip().is_loopback() {
        Ok(address)
    } else {
        Err(format!(
            "--metrics-bind-address: {text:?} is not a loopback address, and the server is not secured"
        ))
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    fn config(line: &str) -> Result<Config, String> {
        let words = ["endpoint-controller-manager", "--leader-elect=false"].into_iter();
        Options::try_parse_from(words.chain(line.split_whitespace()))
            .map_err(|error| error.to_string())?
            .try_into()
    }

    #[test]
    fn values_out_of_range_are_refused_by_flag() {
        for (line, reason) in [
            ("--max-endpoints-per-slice=0", "--max-endpoints-per-slice must not be less than 1, but got 0"),
            (
                "--max-endpoints-per-slice=1001",
                "--max-endpoints-per-slice must not be more than 1000, but got 1001",
            ),
            (
                "--concurrent-service-endpoint-syncs=-3",
                "--concurrent-service-endpoint-syncs must not be less than 1, but got -3",
            ),
            (
                "--concurrent-service-endpoint-syncs=51",
                "--concurrent-service-endpoint-syncs must not be more than 50, but got 51",
            ),
            (
                "--kube-api-content-type=application/cbor",
                "--kube-api-content-type: \"application/cbor\" is not supported, use application/vnd.kubernetes.protobuf or application/json",
            ),
            ("--kube-api-qps=NaN", "--kube-api-qps must be a number"),
            ("--logging-format=xml", "--logging-format: \"xml\" is not text or json"),
            (
                "--metrics-bind-address=0.0.0.0:1",
                "--metrics-bind-address: \"0.0.0.0:1\" is not a loopback address, and the server is not secured",
            ),
            (
                "--metrics-bind-address=here",
                "--metrics-bind-address: \"here\" is not an address such as 127.0.0.1:10260",
            ),
            ("--master=ftp://x", "--master: \"ftp://x\" is not the address of a server"),
            (
                "--leader-elect",
                "--leader-elect: leader election is not available yet; run one replica and pass --leader-elect=false",
            ),
        ] {
            let words: Vec<&str> = line.split_whitespace().collect();
            let base = if line.starts_with("--leader-elect") { vec![] } else { vec!["--leader-elect=false"] };
            let all = ["endpoint-controller-manager"].into_iter().chain(base).chain(words);
            let refused = Config::try_from(Options::try_parse_from(all).unwrap()).unwrap_err();
            assert_eq!(refused, reason, "{line}");
        }
    }

    #[test]
    fn a_master_without_scheme_is_plain_http() {
        let master =
            |text| config(&format!("--master={text}")).unwrap().api_server.master.unwrap().to_string();
        assert_eq!(master("127.0.0.1:8080"), "http://127.0.0.1:8080/");
        assert_eq!(master("https://10.0.0.1:6443"), "https://10.0.0.1:6443/");
    }
}

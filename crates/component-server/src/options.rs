//! The serving flags of a component.

use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

/// The flags of the serving section (`k8s.io/apiserver/pkg/server/options/serving.go`), with their defaults.
#[derive(Clone, Debug)]
pub struct ServingOptions {
    /// `--bind-address`. An unspecified address of either family means all interfaces of both families.
    pub bind_address: IpAddr,
    /// `--secure-port`; 0 disables the server.
    pub secure_port: i32,
    /// `--tls-cert-file`: the serving certificate in PEM, followed by its intermediates.
    pub tls_cert_file: Option<PathBuf>,
    /// `--tls-private-key-file`: its key in PEM.
    pub tls_private_key_file: Option<PathBuf>,
    /// `--cert-dir`: directory for a self-signed pair if no files are given; none keeps it in memory.
    pub cert_dir: Option<PathBuf>,
    /// File name of that pair, without `.crt` and `.key`.
    pub pair_name: String,
    /// `--tls-sni-cert-key`, in order.
    pub tls_sni_cert_key: Vec<SniCertificate>,
    /// `--tls-min-version`, such as `VersionTLS12`; empty means TLS 1.2.
    pub tls_min_version: String,
    /// `--tls-cipher-suites` by Go's names; empty means all. As in Go, those of TLS 1.3 are always enabled.
    pub tls_cipher_suites: Vec<String>,
    /// `--tls-curve-preferences` by Go's numbers; empty means all.
    pub tls_curve_preferences: Vec<i32>,
    /// `--http2-max-streams-per-connection`; 0 means 100.
    pub http2_max_streams_per_connection: u32,
    /// `--disable-http2-serving`.
    pub disable_http2_serving: bool,
    /// `--permit-port-sharing`: another process may listen on the same port.
    ///
    /// Its sibling `--permit-address-sharing` needs no field: as Go does, the server always sets `SO_REUSEADDR`.
    pub permit_port_sharing: bool,
    /// Interval at which certificates and authorities are reloaded.
    pub reload_interval: Duration,
    /// Bounds on what clients can occupy.
    pub limits: Limits,
}

/// Bounds on the resources that clients can occupy.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Open connections. A further one evicts another: of the address with the most connections, the one that has been
    /// idle for the longest. So no client can lock out others by holding connections.
    pub connections: usize,
    /// Time from accepting a connection to the end of the TLS handshake.
    pub handshake: Duration,
    /// Time for the header of an HTTP/1 request, including the wait for it on a kept-alive connection.
    pub header: Duration,
    /// Time without a request in progress. A client that does not read its response counts as idle, too.
    pub idle: Duration,
    /// Time for requests in progress once a connection is being closed.
    pub grace: Duration,
    /// Size of a request header in bytes, roughly, beyond which the request is refused with 431.
    pub header_bytes: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 256,
            handshake: Duration::from_secs(10),
            header: Duration::from_secs(32),
            idle: Duration::from_secs(90),
            grace: Duration::from_secs(10),
            header_bytes: 64 << 10,
        }
    }
}

impl Default for ServingOptions {
    fn default() -> Self {
        Self {
            bind_address: Ipv4Addr::UNSPECIFIED.into(),
            secure_port: 0,
            tls_cert_file: None,
            tls_private_key_file: None,
            cert_dir: None,
            pair_name: String::new(),
            tls_sni_cert_key: Vec::new(),
            tls_min_version: String::new(),
            tls_cipher_suites: Vec::new(),
            tls_curve_preferences: Vec::new(),
            http2_max_streams_per_connection: 0,
            disable_http2_serving: false,
            permit_port_sharing: false,
            reload_interval: Duration::from_secs(10),
            limits: Limits::default(),
        }
    }
}

/// One value of `--tls-sni-cert-key`: a certificate for clients that request certain server names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SniCertificate {
    /// The certificate in PEM.
    pub cert_file: PathBuf,
    /// Its key in PEM.
    pub key_file: PathBuf,
    /// Server names, possibly with `*` as the first label; empty means the names in the certificate.
    pub names: Vec<String>,
}

impl FromStr for SniCertificate {
    type Err = &'static str;

    /// Parses `certificate,key` or `certificate,key:name,name` (`namedcertkey_flag.go`).
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (files, names) = match text.split_once(':') {
            Some((_, names)) if names.trim().is_empty() => return Err("empty names list is not allowed"),
            Some((files, names)) => (files, names.split(',').map(|name| name.trim().to_owned()).collect()),
            None => (text, Vec::new()),
        };
        match files.split(',').map(str::trim).collect::<Vec<_>>().as_slice() {
            [cert_file, key_file] => {
                Ok(Self { cert_file: cert_file.into(), key_file: key_file.into(), names })
            }
            _ => Err("expected comma separated certificate and key file paths"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sni_certificates_are_parsed_as_upstream_parses_them() {
        let pair = |names: &[&str]| SniCertificate {
            cert_file: "a.crt".into(),
            key_file: "a.key".into(),
            names: names.iter().map(|&name| name.to_owned()).collect(),
        };
        assert_eq!("a.crt,a.key".parse(), Ok(pair(&[])));
        assert_eq!(" a.crt , a.key : *.foo.com, foo.com ".parse(), Ok(pair(&["*.foo.com", "foo.com"])));
        assert_eq!("a.crt,a.key:".parse::<SniCertificate>(), Err("empty names list is not allowed"));
        for wrong in ["", "a.crt", "a,b,c", "a.crt:foo"] {
            let error = "expected comma separated certificate and key file paths";
            assert_eq!(wrong.parse::<SniCertificate>(), Err(error), "{wrong}");
        }
    }
}

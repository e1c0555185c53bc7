//! How to serve, as the flags of a component say it.

use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use crate::tls::TlsPolicy;

/// The flags of the serving section (`k8s.io/apiserver/pkg/server/options/serving.go`), with their defaults.
#[derive(Clone, Debug)]
pub struct ServingOptions {
    /// `--bind-address`. An unspecified address of either family means all interfaces and both families.
    pub bind_address: IpAddr,
    /// `--secure-port`; 0 serves nothing.
    pub secure_port: i32,
    /// `--tls-cert-file`: the serving certificate in PEM, its intermediates after it.
    pub tls_cert_file: Option<PathBuf>,
    /// `--tls-private-key-file`: its key in PEM.
    pub tls_private_key_file: Option<PathBuf>,
    /// `--cert-dir`: where a self-signed pair is kept if no files are named; none keeps it in memory.
    pub cert_dir: Option<PathBuf>,
    /// The name of that pair's files, without `.crt` and `.key`.
    pub pair_name: String,
    /// `--tls-sni-cert-key`, in order.
    pub tls_sni_cert_key: Vec<SniCertificate>,
    /// `--tls-min-version`, such as `VersionTLS12`; empty is TLS 1.2.
    pub tls_min_version: String,
    /// `--tls-cipher-suites` by Go's names; empty is all. As in Go, those of TLS 1.3 are always on.
    pub tls_cipher_suites: Vec<String>,
    /// `--tls-curve-preferences` by Go's numbers; empty is all.
    pub tls_curve_preferences: Vec<i32>,
    /// `--http2-max-streams-per-connection`; 0 is 100.
    pub http2_max_streams_per_connection: u32,
    /// `--disable-http2-serving`.
    pub disable_http2_serving: bool,
    /// `--permit-port-sharing`: another process may listen on the same port.
    ///
    /// Its sibling `--permit-address-sharing` needs no field: as Go does, the server always sets `SO_REUSEADDR`.
    pub permit_port_sharing: bool,
    /// How often certificates and authorities are read again.
    pub reload_interval: Duration,
    /// What a client may keep busy, and for how long.
    pub limits: Limits,
}

/// Bounds on what clients can do to the server.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Connections at once. One more closes another: of the address that holds the most, the one that has been quiet
    /// for the longest. So nobody can shut others out by holding connections.
    pub connections: usize,
    /// From the connection to the end of the TLS handshake.
    pub handshake: Duration,
    /// For the header of an HTTP/1 request, the wait for it on a kept connection included.
    pub header: Duration,
    /// Without a request in progress. A client that does not take its answer counts as idle, too.
    pub idle: Duration,
    /// For requests in progress once a connection is to end.
    pub grace: Duration,
    /// Bytes of a request's header, roughly, beyond which it is refused with 431.
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

impl ServingOptions {
    /// Everything that is wrong with the values themselves, each naming its flag. Files are not looked at.
    pub fn validate(&self) -> Vec<String> {
        let mut errors = Vec::new();
        if !(0..=65535).contains(&self.secure_port) {
            let port = self.secure_port;
            errors.push(format!(
                "--secure-port {port} must be between 0 and 65535, inclusive. 0 for turning off secure port"
            ));
        }
        if self.tls_cert_file.is_some() != self.tls_private_key_file.is_some() {
            errors.push("--tls-cert-file and --tls-private-key-file must be given together".to_owned());
        }
        if self.cert_dir.is_some() && self.pair_name.is_empty() {
            errors.push("--cert-dir needs a name for the pair of files".to_owned());
        }
        errors.extend(TlsPolicy::new(self).err());
        errors
    }
}

/// One value of `--tls-sni-cert-key`: a certificate for clients that ask for certain names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SniCertificate {
    /// The certificate in PEM.
    pub cert_file: PathBuf,
    /// Its key in PEM.
    pub key_file: PathBuf,
    /// Names, possibly with `*` for the first label; none stands for the names in the certificate.
    pub names: Vec<String>,
}

impl FromStr for SniCertificate {
    type Err = &'static str;

    /// Reads `certificate,key` or `certificate,key:name,name` (`namedcertkey_flag.go`).
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
    fn each_error_names_its_flag() {
        let cases: [(fn(&mut ServingOptions), &str); 8] = [
            (
                |o| o.secure_port = 70000,
                "--secure-port 70000 must be between 0 and 65535, inclusive. 0 for turning off secure port",
            ),
            (
                |o| o.secure_port = -1,
                "--secure-port -1 must be between 0 and 65535, inclusive. 0 for turning off secure port",
            ),
            (
                |o| o.tls_cert_file = Some("a".into()),
                "--tls-cert-file and --tls-private-key-file must be given together",
            ),
            (|o| o.cert_dir = Some("a".into()), "--cert-dir needs a name for the pair of files"),
            (|o| o.tls_min_version = "1.2".into(), "--tls-min-version: unknown tls version \"1.2\""),
            (
                |o| o.tls_cipher_suites = vec!["FAST".into()],
                "--tls-cipher-suites: Cipher suite FAST not supported or doesn't exist",
            ),
            (
                |o| o.tls_curve_preferences = vec![7],
                "--tls-curve-preferences: curve preference 7 is not supported",
            ),
            (
                |o| o.tls_curve_preferences = vec![25],
                "--tls-curve-preferences: none of the curves is supported, use 29 (X25519), 23 (P-256) or 24 (P-384)",
            ),
        ];
        assert!(ServingOptions::default().validate().is_empty());
        for (change, message) in cases {
            let mut options = ServingOptions::default();
            change(&mut options);
            assert_eq!(options.validate(), [message]);
        }
    }

    #[test]
    fn sni_certificates_are_read_as_upstream_reads_them() {
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

//! Protocol settings: TLS versions, cipher suites, key exchange, HTTP versions.

use std::fmt;
use std::sync::Arc;

use rustls::crypto::{CryptoProvider, SupportedKxGroup, ring};
use rustls::version::{TLS12, TLS13};
use rustls::{NamedGroup, SupportedCipherSuite, SupportedProtocolVersion};

use crate::options::ServingOptions;

/// The protocol settings that flags configure.
pub(crate) struct TlsPolicy {
    pub(crate) provider: Arc<CryptoProvider>,
    pub(crate) versions: &'static [&'static SupportedProtocolVersion],
    /// Offered by ALPN in order of preference.
    pub(crate) protocols: &'static [&'static [u8]],
    /// One warning for each configured value that is not available.
    pub(crate) warnings: Vec<String>,
}

/// Suites that Go implements and rustls does not: CBC, RC4, and key exchange without forward secrecy.
const GO_ONLY_SUITES: [&str; 16] = [
    "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA",
    "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256",
    "TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA",
    "TLS_ECDHE_ECDSA_WITH_RC4_128_SHA",
    "TLS_ECDHE_RSA_WITH_3DES_EDE_CBC_SHA",
    "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA",
    "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256",
    "TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA",
    "TLS_ECDHE_RSA_WITH_RC4_128_SHA",
    "TLS_RSA_WITH_3DES_EDE_CBC_SHA",
    "TLS_RSA_WITH_AES_128_CBC_SHA",
    "TLS_RSA_WITH_AES_128_CBC_SHA256",
    "TLS_RSA_WITH_AES_128_GCM_SHA256",
    "TLS_RSA_WITH_AES_256_CBC_SHA",
    "TLS_RSA_WITH_AES_256_GCM_SHA384",
    "TLS_RSA_WITH_RC4_128_SHA",
];

/// Curves that Go implements and ring does not: P-521 and the post-quantum hybrids with P-256, X25519 and P-384.
const GO_ONLY_CURVES: [i32; 4] = [25, 4587, 4588, 4589];

static FROM_1_2: &[&SupportedProtocolVersion] = &[&TLS13, &TLS12];
static FROM_1_3: &[&SupportedProtocolVersion] = &[&TLS13];

impl TlsPolicy {
    /// Reads the flags. The error names the flag that is invalid.
    pub(crate) fn new(options: &ServingOptions) -> Result<Self, String> {
        let mut warnings = Vec::new();
        let versions = versions(&options.tls_min_version, &mut warnings)?;
        let provider = ring::default_provider();
        let provider = CryptoProvider {
            cipher_suites: cipher_suites(&provider, &options.tls_cipher_suites, &mut warnings)?,
            kx_groups: kx_groups(&provider, &options.tls_curve_preferences, &mut warnings)?,
            ..provider
        };
        let protocols: &[&[u8]] =
            if options.disable_http2_serving { &[b"http/1.1"] } else { &[b"h2", b"http/1.1"] };
        Ok(Self { provider: Arc::new(provider), versions, protocols, warnings })
    }
}

fn versions(
    minimum: &str,
    warnings: &mut Vec<String>,
) -> Result<&'static [&'static SupportedProtocolVersion], String> {
    match minimum {
        "" | "VersionTLS12" => Ok(FROM_1_2),
        "VersionTLS13" => Ok(FROM_1_3),
        "VersionTLS10" | "VersionTLS11" => {
            warnings.push(format!("--tls-min-version: {minimum} is not available, serving TLS 1.2 and 1.3"));
            Ok(FROM_1_2)
        }
        _ => Err(format!("--tls-min-version: unknown tls version {minimum:?}")),
    }
}

/// Returns all suites of TLS 1.3, and those of TLS 1.2 that are named. Without names, returns all.
fn cipher_suites(
    provider: &CryptoProvider,
    names: &[String],
    warnings: &mut Vec<String>,
) -> Result<Vec<SupportedCipherSuite>, String> {
    let all = &provider.cipher_suites;
    if names.is_empty() {
        return Ok(all.clone());
    }
    let mut named = Vec::new();
    for name in names {
        // Go's older names of the two ChaCha suites lack the hash.
        let full = if name.ends_with("_CHACHA20_POLY1305") { format!("{name}_SHA256") } else { name.clone() };
        match all.iter().find(|suite| go_name(suite) == full) {
            Some(suite) => named.push(suite.suite()),
            None if GO_ONLY_SUITES.contains(&name.as_str()) => {
                warnings.push(format!("--tls-cipher-suites: {name} is not available and is ignored"));
            }
            None => {
                return Err(format!(
                    "--tls-cipher-suites: Cipher suite {name} not supported or doesn't exist"
                ));
            }
        }
    }
    let wanted = |suite: &&SupportedCipherSuite| suite.tls13().is_some() || named.contains(&suite.suite());
    Ok(all.iter().filter(wanted).copied().collect())
}

/// Returns Go's name of a suite. rustls marks the suites of TLS 1.3 in their names, Go does not.
fn go_name(suite: &SupportedCipherSuite) -> String {
    format!("{:?}", suite.suite()).replacen("TLS13_", "TLS_", 1)
}

fn kx_groups(
    provider: &CryptoProvider,
    curves: &[i32],
    warnings: &mut Vec<String>,
) -> Result<Vec<&'static dyn SupportedKxGroup>, String> {
    let all = &provider.kx_groups;
    if curves.is_empty() {
        return Ok(all.clone());
    }
    for (index, curve) in curves.iter().enumerate() {
        if !(1..=i32::from(u16::MAX)).contains(curve) {
            return Err(format!(
                "--tls-curve-preferences: curve preference {curve} is out of range (must be 1-65535)"
            ));
        }
        if curves.iter().take(index).any(|earlier| earlier == curve) {
            return Err(format!("--tls-curve-preferences: duplicate curve preference {curve}"));
        }
        if GO_ONLY_CURVES.contains(curve) {
            warnings.push(format!("--tls-curve-preferences: {curve} is not available and is ignored"));
        } else if !all.iter().any(|group| number(group.name()) == *curve) {
            return Err(format!("--tls-curve-preferences: curve preference {curve} is not supported"));
        }
    }
    let wanted = |group: &&&dyn SupportedKxGroup| curves.contains(&number(group.name()));
    let groups: Vec<_> = all.iter().filter(wanted).copied().collect();
    if groups.is_empty() {
        let known = "29 (X25519), 23 (P-256) or 24 (P-384)";
        return Err(format!("--tls-curve-preferences: none of the curves is supported, use {known}"));
    }
    Ok(groups)
}

fn number(group: NamedGroup) -> i32 {
    u16::from(group).into()
}

impl fmt::Debug for TlsPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TlsPolicy").field("warnings", &self.warnings).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy(change: impl FnOnce(&mut ServingOptions)) -> Result<TlsPolicy, String> {
        let mut options = ServingOptions::default();
        change(&mut options);
        TlsPolicy::new(&options)
    }

    fn suites(policy: &TlsPolicy) -> Vec<String> {
        policy.provider.cipher_suites.iter().map(go_name).collect()
    }

    #[test]
    fn all_suites_of_rustls_have_names_of_go() {
        let all = suites(&policy(|_| ()).unwrap());
        assert_eq!(all.len(), 9, "{all:?}");
        let named = policy(|options| options.tls_cipher_suites = all.clone()).unwrap();
        assert_eq!(suites(&named), all);
        assert!(named.warnings.is_empty());
    }

    #[test]
    fn only_the_suites_of_tls_1_2_can_be_restricted() {
        let names = ["TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305", "TLS_RSA_WITH_AES_128_CBC_SHA"];
        let policy = policy(|options| options.tls_cipher_suites = names.map(str::to_owned).to_vec()).unwrap();
        let expected = [
            "TLS_AES_256_GCM_SHA384",
            "TLS_AES_128_GCM_SHA256",
            "TLS_CHACHA20_POLY1305_SHA256",
            "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256",
        ];
        assert_eq!(suites(&policy), expected);
        let warning = "--tls-cipher-suites: TLS_RSA_WITH_AES_128_CBC_SHA is not available and is ignored";
        assert_eq!(policy.warnings, [warning]);
    }

    #[test]
    fn curves_keep_the_order_of_the_provider() {
        let policy = policy(|options| options.tls_curve_preferences = vec![24, 4588, 29]).unwrap();
        let numbers: Vec<i32> = policy.provider.kx_groups.iter().map(|group| number(group.name())).collect();
        assert_eq!(numbers, [29, 24]);
        assert_eq!(policy.warnings, ["--tls-curve-preferences: 4588 is not available and is ignored"]);
    }

    #[test]
    fn versions_below_1_2_are_raised_with_a_warning() {
        let policy = policy(|options| options.tls_min_version = "VersionTLS10".into()).unwrap();
        assert_eq!(policy.versions.len(), 2);
        assert_eq!(policy.warnings.len(), 1);
    }
}

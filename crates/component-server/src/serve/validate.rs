//! Validation of the serving flags.

use crate::options::ServingOptions;
use crate::tls::TlsPolicy;

impl ServingOptions {
    /// Returns every error in the values themselves, each naming its flag. Does not read files.
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
}

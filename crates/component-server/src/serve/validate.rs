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
    fn a_directory_needs_a_name_for_the_files_in_it() {
        let options = ServingOptions { cert_dir: Some("a".into()), ..ServingOptions::default() };
        assert_eq!(options.validate(), ["--cert-dir needs a name for the pair of files"]);
    }
}

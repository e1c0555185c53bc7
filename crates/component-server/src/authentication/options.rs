//! The authentication flags of a component.

use std::path::PathBuf;
use std::time::Duration;

/// The flags of the authentication section (`k8s.io/apiserver/pkg/server/options/authentication.go`), with their
/// defaults. `--authentication-kubeconfig` is not among them: it becomes the
/// [`AuthenticationApi`](crate::AuthenticationApi) of the [`Authenticator`](crate::Authenticator).
#[derive(Clone, Debug)]
pub struct AuthenticationOptions {
    /// `--client-ca-file`; none uses the CAs that the cluster configures.
    pub client_ca_file: Option<PathBuf>,
    /// The `--requestheader-*` flags.
    pub request_header: RequestHeaderOptions,
    /// `--authentication-skip-lookup`: use files only, never the configuration of the cluster.
    pub skip_lookup: bool,
    /// `--authentication-tolerate-lookup-failure`: start even if the configuration of the cluster cannot be read.
    pub tolerate_lookup_failure: bool,
    /// `--authentication-token-webhook-cache-ttl`: lifetime of a cached token review; 0 disables caching.
    pub token_cache_ttl: Duration,
}

/// The `--requestheader-*` flags: trusted front proxies and their headers. Without a file, the cluster configures them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestHeaderOptions {
    /// `--requestheader-client-ca-file`.
    pub client_ca_file: Option<PathBuf>,
    /// `--requestheader-allowed-names`: common names of front proxies; empty allows any that the CAs signed.
    pub allowed_names: Vec<String>,
    /// `--requestheader-username-headers`.
    pub username_headers: Vec<String>,
    /// `--requestheader-uid-headers`.
    pub uid_headers: Vec<String>,
    /// `--requestheader-group-headers`.
    pub group_headers: Vec<String>,
    /// `--requestheader-extra-headers-prefix`.
    pub extra_headers_prefix: Vec<String>,
}

impl Default for AuthenticationOptions {
    fn default() -> Self {
        Self {
            client_ca_file: None,
            request_header: RequestHeaderOptions::default(),
            skip_lookup: false,
            tolerate_lookup_failure: false,
            token_cache_ttl: Duration::from_secs(10),
        }
    }
}

impl Default for RequestHeaderOptions {
    fn default() -> Self {
        Self {
            client_ca_file: None,
            allowed_names: Vec::new(),
            username_headers: vec!["x-remote-user".to_owned()],
            uid_headers: Vec::new(),
            group_headers: vec!["x-remote-group".to_owned()],
            extra_headers_prefix: vec!["x-remote-extra-".to_owned()],
        }
    }
}

impl AuthenticationOptions {
    /// Returns every error in the values themselves, each naming its flag. Does not read files.
    pub fn validate(&self) -> Vec<String> {
        let RequestHeaderOptions {
            allowed_names,
            username_headers,
            uid_headers,
            group_headers,
            extra_headers_prefix,
            ..
        } = &self.request_header;
        let lists = [
            ("requestheader-username-headers", username_headers),
            ("requestheader-group-headers", group_headers),
            ("requestheader-extra-headers-prefix", extra_headers_prefix),
            ("requestheader-allowed-names", allowed_names),
            ("requestheader-uid-headers", uid_headers),
        ];
        let blank = |(_, values): &(&str, &Vec<String>)| values.iter().any(|value| value.trim().is_empty());
        let mut errors: Vec<String> = lists
            .into_iter()
            .filter(blank)
            .map(|(flag, _)| format!("--{flag}: empty value in {flag:?}"))
            .collect();
        let standard = |header: &String| header.eq_ignore_ascii_case("X-Remote-Uid");
        if !uid_headers.is_empty() && !uid_headers.iter().any(standard) {
            errors.push(
                "--requestheader-uid-headers is set without specifying the standard X-Remote-Uid header - API \
                 aggregation will not work"
                    .to_owned(),
            );
        }
        errors
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_error_names_its_flag() {
        let mut options = AuthenticationOptions::default();
        assert!(options.validate().is_empty());
        options.request_header.username_headers = vec!["x-remote-user".into(), " ".into()];
        options.request_header.uid_headers = vec!["x-my-uid".into()];
        let errors = [
            "--requestheader-username-headers: empty value in \"requestheader-username-headers\"",
            "--requestheader-uid-headers is set without specifying the standard X-Remote-Uid header - API \
             aggregation will not work",
        ];
        assert_eq!(options.validate(), errors);
        options.request_header = RequestHeaderOptions {
            uid_headers: vec!["x-my-uid".into(), "x-remote-uid".into()],
            ..RequestHeaderOptions::default()
        };
        assert!(options.validate().is_empty());
    }
}

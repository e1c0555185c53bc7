//! The HTTPS server, as flags describe it.

use std::path::PathBuf;

use component_server::{AuthenticationOptions, AuthorizationOptions, RequestHeaderOptions, ServingOptions};

use super::{Errors, path};
use crate::gates::{self, FeatureGates};
use crate::options::flags::{self, Flags, list};
use crate::version;

/// How to serve, and to whom.
#[derive(Clone, Debug)]
pub(crate) struct Server {
    pub(crate) serving: ServingOptions,
    pub(crate) authentication: AuthenticationOptions,
    /// Who is asked about tokens, and where authorities are looked up.
    pub(crate) authentication_kubeconfig: Option<PathBuf>,
    pub(crate) authorization: AuthorizationOptions,
    /// Who is asked what a user may do.
    pub(crate) authorization_kubeconfig: Option<PathBuf>,
    /// Whether `/debug/flags` is served.
    pub(crate) profiling: bool,
}

/// The server's options. What is wrong with them goes to the errors.
pub(super) fn checked(flags: &Flags, gates: Option<&FeatureGates>, errors: &mut Errors) -> Server {
    let server = Server {
        serving: serving(&flags.serving, errors),
        authentication: authentication(&flags.authentication),
        authentication_kubeconfig: path(&flags.authentication.authentication_kubeconfig),
        authorization: authorization(&flags.authorization),
        authorization_kubeconfig: path(&flags.authorization.authorization_kubeconfig),
        profiling: flags.debugging.profiling,
    };
    errors.check(server.serving.validate());
    errors.check(server.authentication.validate());
    errors.check(server.authorization.validate());
    let uid = !server.authentication.request_header.uid_headers.is_empty();
    if uid && gates.is_some_and(|gates| !gates.enabled(gates::REMOTE_REQUEST_HEADER_UID)) {
        let feature = gates::REMOTE_REQUEST_HEADER_UID;
        errors.check([format!("--requestheader-uid-headers requires the {feature:?} feature to be enabled")]);
    }
    server
}

fn serving(flags: &flags::SecureServing, errors: &mut Errors) -> ServingOptions {
    let streams = flags.http2_max_streams_per_connection;
    let streams = u32::try_from(streams).map_err(|_| {
        format!("--http2-max-streams-per-connection must not be less than 0, but got {streams}")
    });
    ServingOptions {
        bind_address: flags.bind_address,
        secure_port: flags.secure_port,
        tls_cert_file: path(&flags.tls_cert_file),
        tls_private_key_file: path(&flags.tls_private_key_file),
        cert_dir: path(&flags.cert_dir),
        pair_name: version::NAME.to_owned(),
        tls_sni_cert_key: flags.tls_sni_cert_key.clone(),
        tls_min_version: flags.tls_min_version.clone(),
        tls_cipher_suites: list(&flags.tls_cipher_suites),
        tls_curve_preferences: flags
            .tls_curve_preferences
            .iter()
            .flat_map(|curves| curves.0.iter().copied())
            .collect(),
        http2_max_streams_per_connection: errors.keep(streams).unwrap_or_default(),
        disable_http2_serving: flags.disable_http2_serving,
        permit_port_sharing: flags.permit_port_sharing,
        ..ServingOptions::default()
    }
}

fn authentication(flags: &flags::Authentication) -> AuthenticationOptions {
    AuthenticationOptions {
        client_ca_file: path(&flags.client_ca_file),
        request_header: RequestHeaderOptions {
            client_ca_file: path(&flags.requestheader_client_ca_file),
            allowed_names: list(&flags.requestheader_allowed_names),
            username_headers: list(&flags.requestheader_username_headers),
            uid_headers: list(&flags.requestheader_uid_headers),
            group_headers: list(&flags.requestheader_group_headers),
            extra_headers_prefix: list(&flags.requestheader_extra_headers_prefix),
        },
        skip_lookup: flags.authentication_skip_lookup,
        tolerate_lookup_failure: flags.authentication_tolerate_lookup_failure,
        token_cache_ttl: flags.authentication_token_webhook_cache_ttl,
    }
}

fn authorization(flags: &flags::Authorization) -> AuthorizationOptions {
    AuthorizationOptions {
        always_allow_paths: list(&flags.authorization_always_allow_paths),
        authorized_ttl: flags.authorization_webhook_cache_authorized_ttl,
        unauthorized_ttl: flags.authorization_webhook_cache_unauthorized_ttl,
    }
}

//! Flags of the HTTPS server, of authentication and of authorization (`k8s.io/apiserver` `pkg/server/options`).

use crate::options::flag::Flag;
use crate::options::flag::Kind::{Bool, Count, Duration, Int, List, Parsed, Path, Repeated, Text};
use crate::options::value_syntax;

pub(super) const FLAGS: &[Flag] = &[
    Flag::new(
        "bind-address",
        "0.0.0.0",
        "IP address to serve HTTPS on; 0.0.0.0 and :: mean all interfaces and both IP families",
        Parsed(|settings, address| value_syntax::ip(address).map(|ip| settings.server.serving.bind_address = ip)),
    )
    .value_name("IP"),
    Flag::new(
        "cert-dir",
        "",
        "Directory for a self-signed certificate and its key, used if --tls-cert-file is empty; if this is empty too, \
         they are kept in memory",
        Path(|settings, directory| settings.server.serving.cert_dir = directory),
    )
    .value_name("DIRECTORY"),
    Flag::new(
        "disable-http2-serving",
        "false",
        "Serve HTTP/1.1 only",
        Bool(|settings, on| settings.server.serving.disable_http2_serving = on),
    ),
    Flag::new(
        "http2-max-streams-per-connection",
        "0",
        "Maximum number of streams in an HTTP/2 connection; 0 means 100",
        Count {
            min: 0,
            max: i32::MAX,
            set: |settings, streams| settings.server.serving.http2_max_streams_per_connection = streams,
        },
    ),
    Flag::new(
        "permit-port-sharing",
        "false",
        "Listen with SO_REUSEPORT, so that other processes may listen on the same address and port",
        Bool(|settings, on| settings.server.serving.permit_port_sharing = on),
    ),
    Flag::new(
        "secure-port",
        "10257",
        "Port to serve HTTPS on, with authentication and authorization; 0 serves nothing",
        Int(|settings, port| settings.server.serving.secure_port = port),
    ),
    Flag::new(
        "tls-cert-file",
        "",
        "Serving certificate in PEM, followed by its intermediate certificates; reloaded when it changes",
        Path(|settings, file| settings.server.serving.tls_cert_file = file),
    ),
    Flag::new(
        "tls-cipher-suites",
        "",
        "Cipher suites by their names in Go; if empty, all that are supported",
        List(|settings, names| settings.server.serving.tls_cipher_suites = names),
    ),
    Flag::new(
        "tls-curve-preferences",
        "",
        "Key exchange mechanisms by their CurveID numbers in Go; if empty, all that are supported",
        Repeated(|settings, numbers| {
            settings.server.serving.tls_curve_preferences.extend(value_syntax::curves(numbers)?);
            Ok(())
        }),
    )
    .value_name("NUMBERS"),
    Flag::new(
        "tls-min-version",
        "",
        "Minimum version of TLS, such as VersionTLS13; if empty, VersionTLS12",
        Text(|settings, version| version.clone_into(&mut settings.server.serving.tls_min_version)),
    )
    .value_name("VERSION"),
    Flag::new(
        "tls-private-key-file",
        "",
        "Private key in PEM that belongs to --tls-cert-file",
        Path(|settings, file| settings.server.serving.tls_private_key_file = file),
    ),
    Flag::new(
        "tls-sni-cert-key",
        "",
        "Certificate and key for certain server names, as certificate,key or certificate,key:name,name; may be repeated",
        Repeated(|settings, pair| {
            settings.server.serving.tls_sni_cert_key.push(pair.parse()?);
            Ok(())
        }),
    )
    .value_name("PAIR"),
];

pub(super) const AUTHENTICATION: &[Flag] = &[
    Flag::new(
        "authentication-kubeconfig",
        "",
        "Kubeconfig file for the API server that reviews bearer tokens; if empty, the in-cluster configuration is \
         used. If neither is available, bearer tokens are ignored",
        Path(|settings, file| settings.server.authentication_kubeconfig = file),
    ),
    Flag::new(
        "authentication-skip-lookup",
        "false",
        "Do not read from the cluster the authentication settings that no flag gives",
        Bool(|settings, on| settings.server.authentication.skip_lookup = on),
    ),
    Flag::new(
        "authentication-token-webhook-cache-ttl",
        "10s",
        "Time that the result of a token review is cached",
        Duration(|settings, time| settings.server.authentication.token_cache_ttl = time),
    ),
    Flag::new(
        "authentication-tolerate-lookup-failure",
        "false",
        "Start even if authentication settings cannot be read from the cluster",
        Bool(|settings, on| settings.server.authentication.tolerate_lookup_failure = on),
    ),
    Flag::new(
        "client-ca-file",
        "",
        "Certificate authorities in PEM that sign client certificates",
        Path(|settings, file| settings.server.authentication.client_ca_file = file),
    ),
    Flag::new(
        "requestheader-allowed-names",
        "",
        "Common names in client certificates of front proxies; if empty, any name that --requestheader-client-ca-file \
         has signed",
        List(|settings, names| settings.server.authentication.request_header.allowed_names = names),
    ),
    Flag::new(
        "requestheader-client-ca-file",
        "",
        "Certificate authorities in PEM that sign client certificates of front proxies",
        Path(|settings, file| settings.server.authentication.request_header.client_ca_file = file),
    ),
    Flag::new(
        "requestheader-extra-headers-prefix",
        "x-remote-extra-",
        "Prefixes of the headers with which a front proxy passes extra attributes of a user",
        List(|settings, names| settings.server.authentication.request_header.extra_headers_prefix = names),
    )
    .value_name("PREFIXES"),
    Flag::new(
        "requestheader-group-headers",
        "x-remote-group",
        "Headers with which a front proxy passes the groups of a user",
        List(|settings, names| settings.server.authentication.request_header.group_headers = names),
    )
    .value_name("HEADERS"),
    Flag::new(
        "requestheader-uid-headers",
        "",
        "Headers with which a front proxy passes the UID of a user",
        List(|settings, names| settings.server.authentication.request_header.uid_headers = names),
    )
    .value_name("HEADERS"),
    Flag::new(
        "requestheader-username-headers",
        "x-remote-user",
        "Headers with which a front proxy passes the name of a user",
        List(|settings, names| settings.server.authentication.request_header.username_headers = names),
    )
    .value_name("HEADERS"),
];

pub(super) const AUTHORIZATION: &[Flag] = &[
    Flag::new(
        "authorization-always-allow-paths",
        "/healthz,/readyz,/livez",
        "Paths that are served without authorization; a path that ends in * is a prefix",
        List(|settings, paths| settings.server.authorization.always_allow_paths = paths),
    )
    .value_name("PATHS"),
    Flag::new(
        "authorization-kubeconfig",
        "",
        "Kubeconfig file for the API server that authorizes requests; if empty, the in-cluster configuration is used. \
         If neither is available, every path outside --authorization-always-allow-paths is forbidden",
        Path(|settings, file| settings.server.authorization_kubeconfig = file),
    ),
    Flag::new(
        "authorization-webhook-cache-authorized-ttl",
        "10s",
        "Time that a positive result of an access review is cached",
        Duration(|settings, time| settings.server.authorization.authorized_ttl = time),
    ),
    Flag::new(
        "authorization-webhook-cache-unauthorized-ttl",
        "10s",
        "Time that a negative result of an access review is cached",
        Duration(|settings, time| settings.server.authorization.unauthorized_ttl = time),
    ),
];

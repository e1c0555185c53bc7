//! The proxy on the way to the API server.
//!
//! The rules are those of client-go: `proxy-url` of the kubeconfig (`tools/clientcmd`), else the environment as Go
//! reads it (`golang.org/x/net/http/httpproxy`): `HTTPS_PROXY` or `HTTP_PROXY` by the scheme of the server, unless
//! `NO_PROXY` names its host, which is never a loopback one.

use std::net::IpAddr;

use http::Uri;
use hyper_util::client::proxy::matcher::{Intercept, Matcher};
use ipnet::IpNet;

/// An unusable proxy configuration. Of the URL only the scheme is shown, because it may contain a password.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ProxyError {
    #[error("{0}: not a URL with a host, such as http://proxy:3128")]
    NoUrl(&'static str),
    #[error("{0}: proxies of scheme {1:?} are not supported, use http, https or socks5")]
    Scheme(&'static str, String),
}

/// A proxy with its credentials.
#[derive(Clone, Debug)]
pub(crate) struct Proxy {
    pub(crate) kind: Kind,
    /// Scheme, host and port.
    pub(crate) url: Uri,
    intercept: Intercept,
    /// The variable or field that configures it.
    pub(crate) source: &'static str,
}

/// The protocol of a proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// `CONNECT`.
    Http,
    /// `CONNECT`, over TLS.
    Https,
    /// SOCKS version 5.
    Socks,
}

const FIELD: &str = "proxy-url of the kubeconfig";

impl Proxy {
    /// The proxy for a server, if there is one. `url` is `proxy-url` of the kubeconfig.
    pub(crate) fn select(
        url: Option<&Uri>,
        server: &Uri,
        environment: &Environment,
    ) -> Result<Option<Self>, ProxyError> {
        if let Some(url) = url {
            return Self::parse(FIELD, &url.to_string(), server).map(Some);
        }
        let https = server.scheme_str() == Some("https");
        let variable = if https { &environment.for_https } else { &environment.for_http };
        let Some((name, url)) = variable else { return Ok(None) };
        if is_exempt(server, &environment.exempt) {
            return Ok(None);
        }
        if url.contains("://") {
            return Self::parse(name, url, server).map(Some);
        }
        Self::parse(name, &format!("http://{url}"), server).map(Some)
    }

    fn parse(source: &'static str, text: &str, server: &Uri) -> Result<Self, ProxyError> {
        let given: Uri = text.parse().map_err(|_| ProxyError::NoUrl(source))?;
        let (kind, default_port) = match given.scheme_str() {
            Some("http") => (Kind::Http, 80),
            Some("https") => (Kind::Https, 443),
            Some("socks5" | "socks5h") => (Kind::Socks, 1080),
            Some(other) => return Err(ProxyError::Scheme(source, other.to_owned())),
            None => return Err(ProxyError::NoUrl(source)),
        };
        let host = given.host().filter(|host| !host.is_empty()).ok_or(ProxyError::NoUrl(source))?;
        let port = given.port_u16().unwrap_or(default_port);
        let scheme = if kind == Kind::Https { "https" } else { "http" };
        let url = format!("{scheme}://{host}:{port}/").parse().map_err(|_| ProxyError::NoUrl(source))?;
        let intercept = Matcher::builder().all(text).build().intercept(server);
        Ok(Self { kind, url, intercept: intercept.ok_or(ProxyError::NoUrl(source))?, source })
    }

    /// The value of `Proxy-Authorization`.
    pub(crate) fn authorization(&self) -> Option<http::HeaderValue> {
        self.intercept.basic_auth().cloned()
    }

    /// The user name and password for SOCKS.
    pub(crate) fn name_and_password(&self) -> Option<(String, String)> {
        self.intercept.raw_auth().map(|(name, password)| (name.to_owned(), password.to_owned()))
    }
}

/// The proxy variables of the environment, with their names.
#[derive(Clone, Debug, Default)]
pub(crate) struct Environment {
    for_https: Option<(&'static str, String)>,
    for_http: Option<(&'static str, String)>,
    exempt: String,
}

impl Environment {
    /// The environment of this process.
    pub(crate) fn of_process() -> Self {
        Self::from(|name| std::env::var(name).ok())
    }

    /// Of two spellings, the first that isn't empty counts.
    fn from(value: impl Fn(&str) -> Option<String>) -> Self {
        let first = |names: [&'static str; 2]| {
            let mut values = names.into_iter().filter_map(|name| Some((name, value(name)?)));
            values.find(|(_, value)| !value.is_empty())
        };
        Self {
            for_https: first(["HTTPS_PROXY", "https_proxy"]),
            for_http: first(["HTTP_PROXY", "http_proxy"]),
            exempt: first(["NO_PROXY", "no_proxy"]).map(|(_, value)| value).unwrap_or_default(),
        }
    }
}

/// True if a server is exempt from the proxies of the environment.
fn is_exempt(server: &Uri, no_proxy: &str) -> bool {
    let host = server.host().unwrap_or_default().to_ascii_lowercase();
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let address: Option<IpAddr> = host.parse().ok();
    if host == "localhost" || address.is_some_and(|address| address.is_loopback()) {
        return true;
    }
    let port = server.port_u16().unwrap_or(if server.scheme_str() == Some("https") { 443 } else { 80 });
    let entries = no_proxy.split(',').map(|entry| entry.trim().to_ascii_lowercase());
    entries.filter(|entry| !entry.is_empty()).any(|entry| matches(&entry, host, address, port))
}

/// True if an entry of `NO_PROXY` matches this host: `*`, a network, an address or a domain, the last two optionally
/// with a port. A domain matches itself and its subdomains; with a leading dot or `*.`, only its subdomains.
fn matches(entry: &str, host: &str, address: Option<IpAddr>, port: u16) -> bool {
    if entry == "*" {
        return true;
    }
    if let Ok(network) = entry.parse::<IpNet>() {
        return address.is_some_and(|address| network.contains(&address));
    }
    let (name, only_port) = split_port(entry);
    if only_port.is_some_and(|only| only != port) {
        return false;
    }
    if let Ok(exempt) = name.parse::<IpAddr>() {
        return address == Some(exempt);
    }
    if address.is_some() || name.is_empty() {
        return false;
    }
    let below = |domain: &str| host.strip_suffix(domain).is_some_and(|rest| rest.ends_with('.'));
    match name.strip_prefix("*.").or_else(|| name.strip_prefix('.')) {
        Some(domain) => below(domain),
        None => host == name || below(name),
    }
}

/// Splits `host:port` and `[address]:port`; an invalid port is a part of the host.
fn split_port(entry: &str) -> (&str, Option<u16>) {
    let unbracketed = |name: &str| -> Option<usize> { name.starts_with('[').then(|| name.find(']'))? };
    if let Some(end) = unbracketed(entry) {
        let port = entry.get(end + 1..).and_then(|rest| rest.strip_prefix(':')?.parse().ok());
        return (entry.get(1..end).unwrap_or_default(), port);
    }
    match entry.split_once(':') {
        // More than one colon: an IPv6 address.
        Some((name, port)) if !port.contains(':') => match port.parse() {
            Ok(port) => (name, Some(port)),
            Err(_) => (entry, None),
        },
        _ => (entry, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(variables: &[(&str, &str)]) -> Environment {
        Environment::from(|name| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        })
    }

    fn uri(text: &str) -> Uri {
        text.parse().unwrap()
    }

    /// The URL of the proxy for a server, by the environment.
    fn chosen(server: &str, variables: &[(&str, &str)]) -> String {
        let proxy = Proxy::select(None, &uri(server), &environment(variables)).unwrap();
        proxy.map(|proxy| proxy.url.to_string()).unwrap_or_default()
    }

    #[test]
    fn the_scheme_of_the_server_chooses_the_variable() {
        let both = [("HTTPS_PROXY", "http://s:1"), ("http_proxy", "http://p:2"), ("HTTP_PROXY", "")];
        assert_eq!(chosen("https://k8s:6443", &both), "http://s:1/");
        assert_eq!(chosen("http://k8s:8080", &both), "http://p:2/");
        assert_eq!(chosen("https://k8s:6443", &both[1..]), "");
        let spellings = [("https_proxy", "http://small:1"), ("HTTPS_PROXY", "http://large:1")];
        assert_eq!(chosen("https://k8s", &spellings), "http://large:1/");
        assert_eq!(chosen("https://k8s", &[("HTTPS_PROXY", "")]), "");
        assert_eq!(chosen("https://k8s", &[("ALL_PROXY", "http://p:1")]), "", "Go doesn't know it");
    }

    #[test]
    fn a_proxy_is_a_url_or_a_host() {
        for (given, kind, url) in [
            ("proxy", Kind::Http, "http://proxy:80/"),
            ("proxy:3128", Kind::Http, "http://proxy:3128/"),
            ("http://proxy:3128/path", Kind::Http, "http://proxy:3128/"),
            ("https://[fd00::1]", Kind::Https, "https://[fd00::1]:443/"),
            ("socks5://proxy", Kind::Socks, "http://proxy:1080/"),
            ("socks5h://proxy:1", Kind::Socks, "http://proxy:1/"),
        ] {
            let variables = environment(&[("HTTPS_PROXY", given)]);
            let proxy = Proxy::select(None, &uri("https://k8s"), &variables).unwrap().unwrap();
            assert_eq!((proxy.kind, &*proxy.url.to_string()), (kind, url), "{given}");
            assert_eq!(proxy.source, "HTTPS_PROXY");
        }
    }

    #[test]
    fn credentials_are_decoded_and_not_logged() {
        let select = |url: &str| {
            let variables = environment(&[("HTTPS_PROXY", url)]);
            Proxy::select(None, &uri("https://k8s"), &variables).map(Option::unwrap)
        };
        let proxy = select("http://me:p%40ss@proxy:1").unwrap();
        assert_eq!(proxy.authorization().unwrap(), "Basic bWU6cEBzcw==");
        assert_eq!(proxy.name_and_password(), None);
        assert!(!format!("{proxy:?}").contains("ss"), "{proxy:?}");
        let proxy = select("socks5://me:p%40ss@proxy:1").unwrap();
        assert_eq!(proxy.name_and_password(), Some(("me".to_owned(), "p@ss".to_owned())));
        for bad in ["ftp://me:secret@proxy", "http://me:secret@", "http://me:sec ret@proxy", "http://"] {
            let error = select(bad).unwrap_err().to_string();
            assert!(error.starts_with("HTTPS_PROXY: ") && !error.contains("ret"), "{error}");
        }
    }

    #[test]
    fn the_kubeconfig_takes_precedence_without_exemptions() {
        let variables = environment(&[("HTTPS_PROXY", "http://other:1"), ("NO_PROXY", "*")]);
        let select = |url: &str, server: &str| Proxy::select(Some(&uri(url)), &uri(server), &variables);
        let proxy = select("http://proxy:3128", "https://127.0.0.1:6443").unwrap().unwrap();
        assert_eq!((&*proxy.url.to_string(), proxy.source), ("http://proxy:3128/", FIELD));
        let refused = |url| select(url, "https://k8s").unwrap_err();
        assert_eq!(refused("ftp://proxy"), ProxyError::Scheme(FIELD, "ftp".to_owned()));
        assert_eq!(refused("proxy:3128"), ProxyError::NoUrl(FIELD));
    }

    #[test]
    fn hosts_are_exempt_as_go_reads_it() {
        let exempt = |server: &str, no_proxy: &str| is_exempt(&uri(server), no_proxy);
        for (server, no_proxy, expected) in [
            ("https://localhost", "", true),
            ("https://127.8.9.10:6443", "", true),
            ("https://[::1]:6443", "", true),
            ("https://k8s.example.com", "", false),
            ("https://k8s.example.com", "*", true),
            ("https://k8s.example.com", "example.com", true),
            ("https://K8S.example.com", "a, EXAMPLE.com ,b", true),
            ("https://example.com", "example.com", true),
            ("https://example.com", ".example.com", false),
            ("https://example.com", "*.example.com", false),
            ("https://k8s.example.com", ".example.com", true),
            ("https://k8s.example.com", "*.example.com", true),
            ("https://notexample.com", "example.com", false),
            ("https://k8s.example.com", "example.com:443", true),
            ("https://k8s.example.com:6443", "example.com:443", false),
            ("http://k8s.example.com", "example.com:80", true),
            ("https://10.1.2.3:6443", "10.0.0.0/8", true),
            ("https://11.1.2.3:6443", "10.0.0.0/8", false),
            ("https://10.1.2.3:6443", "10.1.2.3", true),
            ("https://10.1.2.3:6443", "10.1.2.3:6443", true),
            ("https://10.1.2.3:6443", "10.1.2.3:443", false),
            ("https://10.1.2.3:6443", "2.3", false),
            ("https://[fd00::1]:6443", "fd00::/8", true),
            ("https://[fd00::1]:6443", "fd00::1", true),
            ("https://[fd00::1]:6443", "[fd00::1]:6443", true),
            ("https://[fd00::1]:6443", "[fd00::1]:1", false),
            ("https://k8s", ",, ,.", false),
        ] {
            assert_eq!(exempt(server, no_proxy), expected, "{server} with NO_PROXY={no_proxy}");
        }
    }
}

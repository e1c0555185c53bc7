//! Which requests are answered.
//!
//! The server asks for no credentials: every client that can connect to it can read. A browser connects for any site that it shows.
//! Two checks keep such a site from reading:
//!
//! * the Host header must name a loopback address. A name of the site's own that suddenly resolves to 127.0.0.1 (DNS
//!   rebinding) would make the page one of the site's origin;
//! * data is not for requests that the browser marks as those of another site. Without this they could not be read
//!   either, but keep connections busy.

use std::net::IpAddr;

use http::header::HOST;
use http::request::Parts;
use http::uri::Authority;

/// Checks a request.
///
/// # Errors
/// The reason for the refusal.
pub(crate) fn check(request: &Parts) -> Result<(), &'static str> {
    let mut hosts = request.headers.get_all(HOST).iter();
    let (Some(host), None) = (hosts.next(), hosts.next()) else {
        return Err("The request needs one Host header.");
    };
    let host = host.to_str().ok().and_then(|host| host.parse::<Authority>().ok());
    let is_loopback =
        host.is_some_and(|host| names_loopback(&host)) && request.uri.authority().is_none_or(names_loopback);
    if !is_loopback {
        return Err("The Host header must be localhost or a loopback address.");
    }
    let site = request.headers.get("sec-fetch-site").map(http::HeaderValue::as_bytes);
    let is_own = matches!(site, None | Some(b"same-origin" | b"none"));
    if request.uri.path().starts_with("/api/") && !is_own {
        return Err("The data is for the page of this server only.");
    }
    Ok(())
}

/// True for localhost and loopback addresses with any port: the port may be another one behind a forwarded connection,
/// such as `ssh -L`.
fn names_loopback(authority: &Authority) -> bool {
    // User names have no place here.
    if authority.as_str().contains('@') {
        return false;
    }
    let host = authority.host();
    let address = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    host.eq_ignore_ascii_case("localhost")
        || address.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(uri: &str, headers: &[(&str, &str)]) -> Result<(), &'static str> {
        let request = headers
            .iter()
            .fold(http::Request::get(uri), |request, (name, value)| request.header(*name, *value));
        check(&request.body(()).unwrap().into_parts().0)
    }

    #[test]
    fn loopback_hosts_are_accepted() {
        for host in ["localhost", "LOCALHOST:80", "127.0.0.1:8080", "127.1.2.3", "[::1]:9", "[::1]"] {
            assert_eq!(request("/", &[("host", host)]), Ok(()), "{host}");
        }
    }

    #[test]
    fn other_hosts_are_refused() {
        let hosts = [
            "",
            "evil.example",
            "evil.example:8080",
            "localhost.evil.example",
            "127.0.0.1.nip.io",
            "10.0.0.1",
            "[::2]",
            "0.0.0.0:8080",
            "localhost@evil.example",
            "evil.example@localhost",
            "localhost ",
            "2130706433",
            "::1",
        ];
        for host in hosts {
            assert!(request("/", &[("host", host)]).is_err(), "{host}");
        }
        assert!(request("/", &[]).is_err(), "none");
        assert!(request("/", &[("host", "localhost"), ("host", "localhost")]).is_err(), "two");
        assert!(
            request("http://evil.example/", &[("host", "localhost")]).is_err(),
            "another one in the target"
        );
        assert!(request("http://localhost/", &[("host", "localhost")]).is_ok(), "the same in the target");
    }

    #[test]
    fn data_is_not_for_other_sites() {
        let of_site = |path, site| request(path, &[("host", "localhost"), ("sec-fetch-site", site)]);
        assert!(of_site("/api/services", "same-origin").is_ok());
        assert!(of_site("/api/services", "none").is_ok(), "typed by the user");
        assert!(of_site("/api/services", "cross-site").is_err());
        assert!(of_site("/api/events", "same-site").is_err(), "another port of this machine");
        assert!(of_site("/", "cross-site").is_ok(), "a link to the page");
    }
}

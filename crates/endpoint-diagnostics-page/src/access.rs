//! Which requests are answered.
//!
//! Data is for clients that know the token of the server: other users of the machine can connect to it too. A browser has the
//! token from the address that its user opens, in the fragment, which it sends to no server. The page is open to all.
//!
//! A page for several users is behind a server that knows them, and has the last of these checks alone.
//!
//! A browser connects for any site that it shows, and two more checks keep such a site away:
//!
//! * the Host header must name a loopback address. A name of the site's own that suddenly resolves to 127.0.0.1 (DNS
//!   rebinding) would make the page one of the site's origin;
//! * data is not for requests that the browser marks as those of another site. They could not be read, but keep connections
//!   busy.

use std::net::IpAddr;

use http::StatusCode;
use http::header::{AUTHORIZATION, HOST};
use http::request::Parts;
use http::uri::Authority;

/// The status and the reason of a refusal.
pub(crate) type Refusal = (StatusCode, &'static str);

/// Checks a request to a server with this token.
///
/// # Errors
/// The refusal.
pub(crate) fn check(request: &Parts, token: &str) -> Result<(), Refusal> {
    check_host(request).map_err(|reason| (StatusCode::FORBIDDEN, reason))?;
    check_site(request)?;
    if request.uri.path().starts_with("/api/") && !has_token(request, token) {
        return Err((StatusCode::UNAUTHORIZED, "The data is for the user who has the token of this server."));
    }
    Ok(())
}

fn has_token(request: &Parts, token: &str) -> bool {
    let given = request.headers.get(AUTHORIZATION).map(http::HeaderValue::as_bytes);
    let given = given.and_then(|value| value.strip_prefix(b"Bearer ")).unwrap_or_default();
    // The time that this takes says nothing about the token.
    let differing = given.iter().zip(token.as_bytes()).fold(0, |differing, (a, b)| differing | (a ^ b));
    given.len() == token.len() && differing == 0
}

/// Checks that the browser does not ask for data on behalf of another site.
///
/// # Errors
/// The refusal.
pub(crate) fn check_site(request: &Parts) -> Result<(), Refusal> {
    let site = request.headers.get("sec-fetch-site").map(http::HeaderValue::as_bytes);
    let is_own = matches!(site, None | Some(b"same-origin" | b"none"));
    if request.uri.path().contains("/api/") && !is_own {
        return Err((StatusCode::FORBIDDEN, "The data is for the page of this server only."));
    }
    Ok(())
}

fn check_host(request: &Parts) -> Result<(), &'static str> {
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
        let request = request.header("authorization", "Bearer secret").body(()).unwrap();
        check(&request.into_parts().0, "secret").map_err(|(_, reason)| reason)
    }

    #[test]
    fn loopback_hosts_are_accepted() {
        for host in ["localhost", "LOCALHOST:80", "127.0.0.1:8080", "127.1.2.3", "[::1]:9", "[::1]"] {
            assert_eq!(request("/", &[("host", host)]), Ok(()), "{host}");
        }
    }

    #[test]
    fn data_is_for_clients_with_the_token() {
        let status = |path: &str, given: Option<&str>| {
            let request = http::Request::get(path).header("host", "localhost");
            let request = given.into_iter().fold(request, |it, given| it.header("authorization", given));
            let checked = check(&request.body(()).unwrap().into_parts().0, "secret");
            checked.err().map(|(status, _)| status.as_u16())
        };
        for path in ["/api/services", "/api/services/shop/web", "/api/events?after=1", "/api/"] {
            assert_eq!(status(path, Some("Bearer secret")), None, "{path}");
            for given in
                ["Bearer secre", "Bearer secret2", "Bearer Secret", "Bearer ", "secret", "Basic secret"]
            {
                assert_eq!(status(path, Some(given)), Some(401), "{path} {given}");
            }
            assert_eq!(status(path, None), Some(401), "{path}");
        }
        assert_eq!((status("/", None), status("/app.js", None)), (None, None));
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

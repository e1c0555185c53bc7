//! Front proxies, which name the user of a request in its headers.

use std::borrow::Cow;
use std::collections::BTreeMap;

use http::HeaderMap;
use percent_encoding::percent_decode_str;

use super::ca_bundle::CaBundle;
use super::options::RequestHeaderOptions;
use crate::tls::Subject;
use crate::user::User;

/// The trusted front proxies.
#[derive(Debug, PartialEq)]
pub(super) struct FrontProxies {
    pub(super) ca_bundle: CaBundle,
    /// The names of allowed proxies and of the headers that they set. Names of headers are trimmed and in lower case.
    headers: RequestHeaderOptions,
}

impl FrontProxies {
    pub(super) fn new(ca_bundle: CaBundle, mut headers: RequestHeaderOptions) -> Self {
        let RequestHeaderOptions {
            username_headers, uid_headers, group_headers, extra_headers_prefix, ..
        } = &mut headers;
        for name in [username_headers, uid_headers, group_headers, extra_headers_prefix].into_iter().flatten()
        {
            *name = name.trim().to_ascii_lowercase();
        }
        Self { ca_bundle, headers }
    }

    /// Checks that the subject is that of an allowed proxy (`x509.go` `verifySubject`).
    pub(super) fn allow(&self, subject: &Subject) -> Result<(), String> {
        let name = &subject.common_name;
        let allowed = &self.headers.allowed_names;
        if allowed.is_empty() || allowed.contains(name) {
            return Ok(());
        }
        Err(format!("x509: subject with cn={name} is not in the allowed list"))
    }

    /// Returns the user that a trusted proxy names in the headers (`headerrequest/requestheader.go`); none without a name.
    pub(super) fn user(&self, headers: &HeaderMap) -> Option<User> {
        let names = &self.headers;
        Some(User {
            name: first(headers, &names.username_headers)?,
            uid: first(headers, &names.uid_headers).unwrap_or_default(),
            groups: names.group_headers.iter().flat_map(|header| all(headers, header)).collect(),
            extra: extra(headers, &names.extra_headers_prefix),
        })
    }
}

/// Returns the value of the first header that is not empty. Of a repeated header, the first value is used, as in Go.
fn first(headers: &HeaderMap, names: &[String]) -> Option<String> {
    let value = |name: &String| headers.get(name).map(|value| lossy(value.as_bytes()));
    names.iter().filter_map(value).find(|value| !value.is_empty())
}

fn all(headers: &HeaderMap, name: &str) -> impl Iterator<Item = String> {
    headers.get_all(name).into_iter().map(|value| lossy(value.as_bytes())).filter(|value| !value.is_empty())
}

fn extra(headers: &HeaderMap, prefixes: &[String]) -> BTreeMap<String, Vec<String>> {
    let mut extra = BTreeMap::<String, Vec<String>>::new();
    for prefix in prefixes {
        for (name, value) in headers {
            if let Some(key) = name.as_str().strip_prefix(prefix.as_str()) {
                let decoded = percent_decode_str(key).decode_utf8();
                let key = decoded.map_or_else(|_| key.to_owned(), Cow::into_owned);
                extra.entry(key).or_default().push(lossy(value.as_bytes()));
            }
        }
    }
    extra
}

fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

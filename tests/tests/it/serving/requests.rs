//! The requests of the comparison.

use std::fmt;

use tests::cluster::User;

use super::clients::{SCRAPER, STRANGER};

/// The client of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sender {
    /// Without credentials.
    Anonymous,
    /// With a token that the API server has not issued.
    InvalidToken,
    /// With the token of a member of system:masters.
    Admin,
    /// With the token of a user who may read metrics.
    Scraper,
    /// With the token of a user who may read nothing.
    Stranger,
    /// With a certificate that names system:masters.
    CertifiedAdmin,
    /// With a certificate of a user who may read nothing.
    CertifiedStranger,
    /// With a certificate that an unknown authority has signed.
    ForeignCertificate,
    /// Through the front proxy.
    ScraperByProxy,
    /// Through the front proxy.
    StrangerByProxy,
}

impl Sender {
    /// The headers with the sender's credentials, if they are in headers.
    pub(crate) fn headers(self) -> Vec<(&'static str, String)> {
        let token = |token: String| vec![("authorization", format!("Bearer {token}"))];
        let user = |user: User| vec![("x-remote-user", user.name().to_owned())];
        match self {
            Self::Anonymous | Self::CertifiedAdmin | Self::CertifiedStranger | Self::ForeignCertificate => {
                Vec::new()
            }
            Self::InvalidToken => token("invented".to_owned()),
            Self::Admin => token(User::Admin.token()),
            Self::Scraper => token(SCRAPER.token()),
            Self::Stranger => token(STRANGER.token()),
            Self::ScraperByProxy => user(SCRAPER),
            Self::StrangerByProxy => user(STRANGER),
        }
    }
}

/// One request.
#[derive(Debug, Clone)]
pub(crate) struct Case {
    pub(crate) sender: Sender,
    pub(crate) method: &'static str,
    pub(crate) path: &'static str,
    pub(crate) accept: Option<&'static str>,
    pub(crate) body: &'static str,
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { sender, method, path, accept, body } = self;
        write!(f, "{sender:?} {method} {path}")?;
        accept.map_or(Ok(()), |accept| write!(f, " as {accept}"))?;
        if body.is_empty() { Ok(()) } else { write!(f, " with {body}") }
    }
}

/// All pages of either program.
const PAGES: &[&str] = &[
    "/healthz",
    "/healthz/endpoints-controller",
    "/livez",
    "/readyz",
    "/metrics",
    "/metrics/slis",
    "/configz",
    "/flagz",
    "/statusz",
    "/debug/flags",
    "/debug/flags/v",
    "/debug/pprof/cmdline",
    "/",
    "/no-such-page",
];

/// Paths with a query or in another form, whose answer may differ or be empty.
const VARIANTS: &[&str] = &[
    "/healthz?verbose",
    "/healthz?exclude=endpoints-controller",
    "/healthz?verbose&exclude=endpoints-controller&exclude=leaderElection",
    "/healthz?verbose&exclude=no-such-check",
    "/healthz?exclude=no-such-check",
    "/healthz/",
    "/%68ealthz",
    "/livez?verbose",
    "/readyz?verbose",
    "/metrics?name[]=up",
    "/metrics/",
    "/configz/",
    "/debug/flags/",
    "/debug/flags/no-such-flag",
    "/debug/pprof",
    "/no-such-page?pretty=true",
];

/// The forms of `/flagz` and `/statusz`.
const FORMS: &[&str] = &[
    "text/plain",
    "text/html",
    "*/*",
    "text/html, */*",
    "application/json",
    "application/json;as=Flagz;g=config.k8s.io;v=v1beta1",
    "application/json;as=Statusz;g=config.k8s.io;v=v1beta1",
    "application/json;as=Statusz;g=config.k8s.io;v=v1alpha1",
    "application/json;as=Statusz;v=v1beta1",
    "application/json;as=Flagz;g=elsewhere;v=v1beta1",
    "application/json;as=Flagz;g=config.k8s.io;v=v9",
    "application/yaml;as=Flagz;v=v1beta1;g=config.k8s.io",
    "application/yaml;as=Statusz;v=v1beta1;g=config.k8s.io",
    "text/plain, application/json;as=Statusz;g=config.k8s.io;v=v1beta1",
    "application/json;as=Statusz;g=config.k8s.io;v=v1beta1, text/plain",
];

/// All requests, in an order that matters only at the end, where the log level changes.
pub(crate) fn all() -> Vec<Case> {
    let ask = |sender, method, path| Case { sender, method, path, accept: None, body: "" };
    let senders = [
        Sender::Anonymous,
        Sender::InvalidToken,
        Sender::Admin,
        Sender::Scraper,
        Sender::Stranger,
        Sender::CertifiedAdmin,
        Sender::CertifiedStranger,
        Sender::ForeignCertificate,
        Sender::ScraperByProxy,
        Sender::StrangerByProxy,
    ];
    let mut all = Vec::new();
    for sender in senders {
        all.extend(PAGES.iter().map(|path| ask(sender, "GET", *path)));
    }
    all.extend(VARIANTS.iter().map(|path| ask(Sender::Admin, "GET", *path)));
    for method in ["HEAD", "POST", "PUT", "DELETE"] {
        all.extend(PAGES.iter().map(|path| ask(Sender::Admin, method, *path)));
        all.extend(["/healthz", "/metrics", "/metrics/slis"].map(|path| ask(Sender::Scraper, method, path)));
    }
    for path in ["/flagz", "/statusz"] {
        all.extend(FORMS.iter().map(|form| Case { accept: Some(*form), ..ask(Sender::Admin, "GET", path) }));
    }
    for form in ["application/json", "application/yaml", "text/html", "application/cbor"] {
        all.push(Case { accept: Some(form), ..ask(Sender::Stranger, "GET", "/configz") });
    }
    let level = ["4", "2", "abc", "-1", "+5", " 5", "99999999999"];
    all.extend(level.map(|body| Case { body, ..ask(Sender::Admin, "PUT", "/debug/flags/v") }));
    all
}

//! A client of the pages that a manager serves over HTTPS.

use std::fmt;

use http::header::{ACCEPT, CONTENT_TYPE, HeaderMap};
use http_body_util::BodyExt as _;
use kube::Client;

/// A client of a manager's own server.
#[derive(Clone)]
pub struct Pages(Client);

impl fmt::Debug for Pages {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Pages")
    }
}

/// One answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// The HTTP status.
    pub status: u16,
    /// The header of that name.
    pub content_type: String,
    /// All headers.
    pub headers: HeaderMap,
    /// The body.
    pub text: String,
}

impl Pages {
    /// A client of the server on this port, anonymous and without verification of the server's certificate.
    pub fn anonymous(port: u16) -> Self {
        let url = format!("https://127.0.0.1:{port}").parse().expect("a URL");
        let mut config = kube::Config::new(url);
        config.accept_invalid_certs = true;
        Self(Client::try_from(config).expect("a client"))
    }

    /// An authenticated client.
    pub fn by(client: Client) -> Self {
        Self(client)
    }

    /// Gets a page, whatever its status.
    ///
    /// # Errors
    /// If there is no answer.
    pub async fn get(&self, path: &str) -> Result<Page, String> {
        // Prometheus prefers OpenMetrics; the tests compare the older format.
        let request = http::Request::get(path).header(ACCEPT, "text/plain;version=0.0.4, */*");
        self.send(request.body(Vec::new()).expect("a request")).await
    }

    /// Sends any request, and returns the answer, whatever its status.
    ///
    /// # Errors
    /// If there is no answer.
    pub async fn send(&self, request: http::Request<Vec<u8>>) -> Result<Page, String> {
        let response = self.0.send(request.map(Into::into)).await.map_err(|error| error.to_string())?;
        let (parts, body) = response.into_parts();
        let content_type = parts.headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
        let content_type = content_type.unwrap_or_default().to_owned();
        let body = body.collect().await.map_err(|error| error.to_string())?.to_bytes();
        let text = String::from_utf8(body.to_vec()).map_err(|error| error.to_string())?;
        Ok(Page { status: parts.status.as_u16(), content_type, headers: parts.headers, text })
    }
}

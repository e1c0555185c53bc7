//! Clients and their credentials.

use std::path::Path;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::{Api, Client};
use serde_json::{Value, json};
use tests::cluster::{self, User};
use tests::manager::Manager;
use tests::pages::{Page, Pages};
use tests::requests;
use tests::wait::{self, LIMIT};

use super::DELEGATE;
use super::requests::{Case, Sender};
use super::tls::{Authority, Pair, write};
use crate::deploy::manifests::authorized;

/// May read metrics and health, and nothing else.
pub(crate) const SCRAPER: User = User::EndpointsController;
/// May read only the pages that every user may.
pub(crate) const STRANGER: User = User::EndpointSliceController;

/// The name in the certificate of the proxy that may authenticate others.
pub(crate) const FRONT_PROXY: &str = "front-proxy";

/// Flags that make the API server publish its client CAs, which managers look up there.
pub(crate) fn apiserver_flags(folder: &Path, people: &Authority, proxies: &Authority) -> Vec<String> {
    vec![
        format!("--client-ca-file={}", write(folder, "people-ca.crt", &people.certificate_pem).display()),
        format!(
            "--requestheader-client-ca-file={}",
            write(folder, "proxies-ca.crt", &proxies.certificate_pem).display()
        ),
        format!("--requestheader-allowed-names={FRONT_PROXY}"),
        "--requestheader-username-headers=X-Remote-User".to_owned(),
        "--requestheader-group-headers=X-Remote-Group".to_owned(),
        "--requestheader-extra-headers-prefix=X-Remote-Extra-".to_owned(),
    ]
}

/// Grants the delegate and the scraper their permissions.
pub(crate) async fn grant(client: &Client) {
    for (user, namespace, role) in [
        (DELEGATE, None, "system:auth-delegator"),
        (SCRAPER, None, "system:monitoring"),
        (DELEGATE, Some("kube-system"), "extension-apiserver-authentication-reader"),
    ] {
        let name = format!("test:{}:{role}", user.name());
        let binding = requests::binding(&name, namespace, role, &requests::user(user.name()));
        requests::create(client, &binding).await.unwrap();
    }
    // Both programs end if they are refused what they look up at their start.
    authorized(client).await;
}

/// Waits until the API server has published the client CAs of its [flags](apiserver_flags).
pub(crate) async fn client_authorities(client: &Client) {
    let maps: Api<ConfigMap> = Api::namespaced(client.clone(), "kube-system");
    wait::until("the published client CAs", LIMIT, async || {
        let map = maps.get("extension-apiserver-authentication").await.map_err(|error| error.to_string())?;
        let data = map.data.unwrap_or_default();
        let is_complete =
            ["client-ca-file", "requestheader-client-ca-file"].iter().all(|key| data.contains_key(*key));
        if is_complete { Ok(()) } else { Err(format!("{:?}", data.keys())) }
    })
    .await;
}

/// Clients of one manager.
pub(crate) struct Clients {
    anonymous: Pages,
    administrator: Pages,
    stranger: Pages,
    foreign: Pages,
    front_proxy: Pages,
}

impl Clients {
    pub(crate) async fn of(
        manager: &Manager,
        folder: &Path,
        people: &Authority,
        proxies: &Authority,
    ) -> Self {
        let folder = folder.join(manager.name());
        std::fs::create_dir(&folder).unwrap();
        let with = async |authority: &Authority, name: &str, groups: &[&str]| {
            let pair = Pair::client(authority, &folder, name, groups);
            let file = folder.join("kubeconfig");
            std::fs::write(&file, kubeconfig(manager.port(), &pair).to_string()).unwrap();
            Pages::by(cluster::client(&file).await.unwrap())
        };
        Self {
            anonymous: manager.pages().clone(),
            administrator: with(people, "root", &["system:masters"]).await,
            stranger: with(people, STRANGER.name(), &[]).await,
            foreign: with(&Authority::new("people"), "root", &["system:masters"]).await,
            front_proxy: with(proxies, FRONT_PROXY, &[]).await,
        }
    }

    /// Sends the request of a case.
    pub(crate) async fn send(&self, case: &Case) -> Result<Page, String> {
        let mut request = http::Request::builder().method(case.method).uri(case.path);
        for (name, value) in case.sender.headers().iter().map(|(name, value)| (*name, value.as_str())) {
            request = request.header(name, value);
        }
        if let Some(accept) = case.accept {
            request = request.header(http::header::ACCEPT, accept);
        }
        let pages = match case.sender {
            Sender::CertifiedAdmin => &self.administrator,
            Sender::CertifiedStranger => &self.stranger,
            Sender::ForeignCertificate => &self.foreign,
            Sender::ScraperByProxy | Sender::StrangerByProxy => &self.front_proxy,
            _ => &self.anonymous,
        };
        pages.send(request.body(case.body.into()).unwrap()).await
    }
}

/// A kubeconfig for a manager on loopback and this certificate.
pub(crate) fn kubeconfig(port: u16, pair: &Pair) -> Value {
    let cluster = json!({"server": format!("https://127.0.0.1:{port}"), "insecure-skip-tls-verify": true});
    let user = json!({"client-certificate": pair.certificate, "client-key": pair.key});
    cluster::kubeconfig(&cluster, &user)
}

//! Certificates and tokens in files that are replaced while a client uses them.
use std::fs;
use std::time::Duration;

use bytes::Bytes;
use http::Request;
use http_body_util::BodyExt as _;
use kube::Client;
use kube::client::Body;
use kube::config::AuthInfo;
use kube_api::connect;
use tempfile::TempDir;
use tokio::time::{advance, pause, resume};

use scripted_api::mutual_tls::{Asked, Authority, Identity, Server};

/// How old what was read of a file may be.
const LOOK_EVERY: Duration = Duration::from_secs(10);

/// Lets that time pass on the clock of the client; sockets have no clock.
async fn wait_for_the_next_look() {
    pause();
    advance(LOOK_EVERY).await;
    resume();
}

async fn get(client: &Client) -> Bytes {
    let response = client.send(Request::get("/").body(Body::empty()).unwrap()).await.unwrap();
    response.into_body().collect().await.unwrap().to_bytes()
}

/// A server that knows the clients of one authority, and a folder for their credentials.
struct Stage {
    server: Server,
    clients: Authority,
    folder: TempDir,
}

impl Stage {
    async fn set() -> Self {
        let clients = Authority::new("clients");
        let server = Server::start(&clients).await;
        Self { server, clients, folder: tempfile::tempdir().unwrap() }
    }

    fn path(&self, name: &str) -> String {
        self.folder.path().join(name).to_str().unwrap().to_owned()
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
    }

    fn write_identity(&self, identity: &Identity) {
        self.write("client.crt", &identity.certificate_pem);
        self.write("client.key", &identity.key_pem);
    }

    /// Credentials in files, as they are at first.
    fn identity(&self) -> (Identity, AuthInfo) {
        let identity = self.clients.client();
        self.write_identity(&identity);
        let (client_certificate, client_key) = (Some(self.path("client.crt")), Some(self.path("client.key")));
        (identity, AuthInfo { client_certificate, client_key, ..AuthInfo::default() })
    }

    fn client(&self, auth_info: AuthInfo) -> Client {
        let mut config = self.server.config();
        config.auth_info = auth_info;
        connect(&config).unwrap()
    }

    /// Sends a request; returns how the server saw it.
    async fn request(&mut self, client: &Client) -> Asked {
        get(client).await;
        self.server.asked().await
    }

    /// The certificate that goes with a request.
    async fn certificate(&mut self, client: &Client) -> Option<Vec<u8>> {
        self.request(client).await.certificate
    }

    /// The token that goes with a request.
    async fn authorization(&mut self, client: &Client) -> Option<String> {
        self.request(client).await.authorization
    }
}

#[tokio::test]
async fn a_new_certificate_is_shown_and_connections_with_the_old_one_end() {
    let mut stage = Stage::set().await;
    let (one, auth_info) = stage.identity();
    let client = stage.client(auth_info);
    assert_eq!(stage.certificate(&client).await, one.der());

    let two = stage.clients.client();
    stage.write_identity(&two);
    assert_eq!(stage.certificate(&client).await, one.der(), "files are not read for each request");

    wait_for_the_next_look().await;
    assert_eq!(stage.certificate(&client).await, two.der());
    stage.server.forgets(&one).await;
}

#[tokio::test]
async fn requests_in_progress_finish_on_old_connections() {
    let mut stage = Stage::set().await;
    let (one, auth_info) = stage.identity();
    let client = stage.client(auth_info);
    let watch = Request::get("/watch").body(Body::empty()).unwrap();
    let mut watch = client.send(watch).await.unwrap().into_body();
    assert_eq!(stage.server.asked().await.certificate, one.der());

    let two = stage.clients.client();
    stage.write_identity(&two);
    wait_for_the_next_look().await;
    assert_eq!(stage.certificate(&client).await, two.der());

    stage.server.send(Some("event"));
    let event = watch.frame().await.unwrap().unwrap().into_data().unwrap();
    assert_eq!(event, "event");
    assert!(stage.server.knows(&one));
    stage.server.send(None);
    assert!(watch.frame().await.is_none());
    stage.server.forgets(&one).await;
    assert!(stage.server.knows(&two));
}

#[tokio::test]
async fn a_certificate_without_its_key_changes_nothing() {
    let mut stage = Stage::set().await;
    let (one, auth_info) = stage.identity();
    let client = stage.client(auth_info);
    let two = stage.clients.client();
    stage.write("client.crt", &two.certificate_pem);
    wait_for_the_next_look().await;
    assert_eq!(stage.certificate(&client).await, one.der());

    stage.write("client.key", &two.key_pem);
    wait_for_the_next_look().await;
    assert_eq!(stage.certificate(&client).await, two.der());
}

#[tokio::test]
async fn a_token_is_read_again() {
    let mut stage = Stage::set().await;
    // As `echo` writes it.
    stage.write("token", "one\n");
    let (_, mut auth_info) = stage.identity();
    auth_info.token_file = Some(stage.path("token"));
    auth_info.token = Some("of the kubeconfig itself".to_owned().into());
    let client = stage.client(auth_info);
    assert_eq!(stage.authorization(&client).await.as_deref(), Some("Bearer one"));

    stage.write("token", "two");
    assert_eq!(stage.authorization(&client).await.as_deref(), Some("Bearer one"));
    wait_for_the_next_look().await;
    assert_eq!(stage.authorization(&client).await.as_deref(), Some("Bearer two"));

    stage.write("token", "\n");
    wait_for_the_next_look().await;
    assert_eq!(stage.authorization(&client).await.as_deref(), Some("Bearer two"), "there is no other");
}

#[tokio::test]
async fn authorities_are_read_again() {
    let stage = Stage::set().await;
    let mut config = stage.server.config();
    (config.root_cert, config.root_cert_file) = (None, Some(stage.path("ca.crt").into()));
    stage.write("ca.crt", "");
    assert!(connect(&config).is_err(), "nobody would be trusted");
    stage.write("ca.crt", &Authority::new("others").certificate_pem);
    let client = connect(&config).unwrap();
    let request = || Request::get("/").body(Body::empty()).unwrap();
    assert!(client.send(request()).await.is_err(), "not signed by these");

    stage.write("ca.crt", &stage.server.authority.certificate_pem);
    assert!(client.send(request()).await.is_err(), "files are not read for each request");
    wait_for_the_next_look().await;
    get(&client).await;
    stage.write("ca.crt", "");
    wait_for_the_next_look().await;
    get(&client).await;
}

#[tokio::test]
async fn inline_credentials_are_not_reloaded() {
    let mut stage = Stage::set().await;
    let (_, mut auth_info) = stage.identity();
    auth_info.client_certificate = None;
    auth_info.client_key = None;
    auth_info.token = Some("of the kubeconfig itself".to_owned().into());
    let client = stage.client(auth_info);
    let authorization = Some("Bearer of the kubeconfig itself".to_owned());
    let asked = Asked { certificate: None, authorization };
    assert_eq!(stage.request(&client).await, asked);
    wait_for_the_next_look().await;
    assert_eq!(stage.request(&client).await, asked);
}

#[tokio::test]
async fn without_its_files_there_is_no_client() {
    let stage = Stage::set().await;
    let mut config = stage.server.config();
    config.auth_info.token_file = Some(stage.path("token"));
    let error = connect(&config).err().unwrap();
    let text = kube_api::error_chain(&error);
    assert!(text.contains("cannot read") && text.contains("token"), "{text}");
}

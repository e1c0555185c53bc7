//! Certificates and tokens in files that are replaced while a client uses them. The clock stands still, so that no file is
//! read too early or too slowly.
use std::fs;
use std::io::Write as _;
use std::process::Command;
use std::time::Duration;

use bytes::Bytes;
use http::Request;
use http_body_util::BodyExt as _;
use kube::Client;
use kube::client::Body;
use kube::config::{AuthInfo, ExecConfig, ExecInteractiveMode};
use kube_api::connect;
use tempfile::TempDir;
use tokio::task::spawn_blocking;
use tokio::time::advance;

use scripted_api::clock::Still;
use scripted_api::mutual_tls::{Asked, Authority, Identity, Server};

/// The time between two reads of a file.
const RELOAD_INTERVAL: Duration = Duration::from_secs(10);

async fn get(client: &Client) -> Bytes {
    let response = client.send(Request::get("/").body(Body::empty()).unwrap()).await.unwrap();
    response.into_body().collect().await.unwrap().to_bytes()
}

/// A server that accepts the clients of one authority, and a directory for their credentials.
struct Fixture {
    server: Server,
    clients: Authority,
    directory: TempDir,
    _clock: Still,
}

impl Fixture {
    async fn new() -> Self {
        let (clock, clients) = (Still::keep(), Authority::new("clients"));
        let server = Server::start(&clients).await;
        Self { server, clients, directory: tempfile::tempdir().unwrap(), _clock: clock }
    }

    fn path(&self, name: &str) -> String {
        self.directory.path().join(name).to_str().unwrap().to_owned()
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
    }

    fn write_identity(&self, identity: &Identity) {
        self.write("client.crt", &identity.certificate_pem);
        self.write("client.key", &identity.key_pem);
    }

    /// The first credentials, in files.
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

    /// Sends a request; returns the credentials that the server saw.
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

#[tokio::test(start_paused = true)]
async fn a_new_certificate_is_shown_and_connections_with_the_old_one_end() {
    let mut fixture = Fixture::new().await;
    let (one, auth_info) = fixture.identity();
    let client = fixture.client(auth_info);
    assert_eq!(fixture.certificate(&client).await, one.der());

    let two = fixture.clients.client();
    fixture.write_identity(&two);
    assert_eq!(fixture.certificate(&client).await, one.der(), "files are not read for each request");

    advance(RELOAD_INTERVAL).await;
    assert_eq!(fixture.certificate(&client).await, two.der());
    fixture.server.disconnected(&one).await;
}

#[tokio::test(start_paused = true)]
async fn requests_in_progress_finish_on_old_connections() {
    let mut fixture = Fixture::new().await;
    let (one, auth_info) = fixture.identity();
    let client = fixture.client(auth_info);
    let watch = Request::get("/watch").body(Body::empty()).unwrap();
    let mut watch = client.send(watch).await.unwrap().into_body();
    assert_eq!(fixture.server.asked().await.certificate, one.der());

    let two = fixture.clients.client();
    fixture.write_identity(&two);
    advance(RELOAD_INTERVAL).await;
    assert_eq!(fixture.certificate(&client).await, two.der());

    fixture.server.send(Some("event"));
    let event = watch.frame().await.unwrap().unwrap().into_data().unwrap();
    assert_eq!(event, "event");
    assert!(fixture.server.is_connected(&one));
    fixture.server.send(None);
    assert!(watch.frame().await.is_none());
    fixture.server.disconnected(&one).await;
    assert!(fixture.server.is_connected(&two));
}

#[tokio::test(start_paused = true)]
async fn a_certificate_without_its_key_changes_nothing() {
    let mut fixture = Fixture::new().await;
    let (one, auth_info) = fixture.identity();
    let client = fixture.client(auth_info);
    let two = fixture.clients.client();
    fixture.write("client.crt", &two.certificate_pem);
    advance(RELOAD_INTERVAL).await;
    assert_eq!(fixture.certificate(&client).await, one.der());

    fixture.write("client.key", &two.key_pem);
    advance(RELOAD_INTERVAL).await;
    assert_eq!(fixture.certificate(&client).await, two.der());
}

#[tokio::test(start_paused = true)]
async fn a_token_is_read_again() {
    let mut fixture = Fixture::new().await;
    // As `echo` writes it.
    fixture.write("token", "one\n");
    let (_, mut auth_info) = fixture.identity();
    auth_info.token_file = Some(fixture.path("token"));
    auth_info.token = Some("of the kubeconfig itself".to_owned().into());
    let client = fixture.client(auth_info);
    assert_eq!(fixture.authorization(&client).await.as_deref(), Some("Bearer one"));

    fixture.write("token", "two");
    assert_eq!(fixture.authorization(&client).await.as_deref(), Some("Bearer one"));
    advance(RELOAD_INTERVAL).await;
    assert_eq!(fixture.authorization(&client).await.as_deref(), Some("Bearer two"));

    fixture.write("token", "\n");
    advance(RELOAD_INTERVAL).await;
    assert_eq!(
        fixture.authorization(&client).await.as_deref(),
        Some("Bearer two"),
        "an empty file is ignored"
    );
    fs::remove_file(fixture.path("token")).unwrap();
    advance(RELOAD_INTERVAL).await;
    assert_eq!(fixture.authorization(&client).await.as_deref(), Some("Bearer two"));
}

/// A plugin whose first token has expired. Once there is a file `slow`, the first run reads a named pipe before it prints the next
/// one.
const PLUGIN: &str = r#"
directory=$(dirname "$0")
token=one expiration=2000-01-01T00:00:00Z
if [ -e "$directory/slow" ]; then
  echo run >>"$directory/runs"
  mkdir "$directory/first" 2>/dev/null && read -r _ <"$directory/pipe"
  token=two expiration=2999-01-01T00:00:00Z
fi
printf '{"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential",'
printf '"status": {"token": "%s", "expirationTimestamp": "%s"}}' "$token" "$expiration"
"#;

/// kube would throw the result away with the request that began it, and begin another with each.
#[tokio::test(start_paused = true)]
async fn a_plugin_that_is_slower_than_a_request_runs_once() {
    let mut fixture = Fixture::new().await;
    fixture.write("plugin", PLUGIN);
    let (plugin, pipe) = (fixture.path("plugin"), fixture.path("pipe"));
    let exec = ExecConfig {
        api_version: Some("client.authentication.k8s.io/v1".to_owned()),
        command: Some("sh".to_owned()),
        args: Some(vec![plugin]),
        interactive_mode: Some(ExecInteractiveMode::Never),
        ..ExecConfig::default()
    };
    let client = fixture.client(AuthInfo { exec: Some(exec), ..AuthInfo::default() });
    fixture.write("slow", "");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    // It opens once the plugin reads it.
    let opening = spawn_blocking(move || fs::OpenOptions::new().write(true).open(pipe));
    let mut pipe = tokio::select! {
        _ = get(&client) => panic!("there is no token yet"),
        pipe = opening => pipe.unwrap().unwrap(),
    };
    pipe.write_all(b"\n").unwrap();
    assert_eq!(fixture.authorization(&client).await.as_deref(), Some("Bearer two"));
    assert_eq!(fs::read_to_string(fixture.path("runs")).unwrap(), "run\n");
}

#[tokio::test(start_paused = true)]
async fn authorities_are_read_again() {
    let fixture = Fixture::new().await;
    let mut config = fixture.server.config();
    (config.root_cert, config.root_cert_file) = (None, Some(fixture.path("ca.crt").into()));
    fixture.write("ca.crt", "");
    assert!(connect(&config).is_err(), "an empty bundle");
    fixture.write("ca.crt", &Authority::new("others").certificate_pem);
    let client = connect(&config).unwrap();
    let request = || Request::get("/").body(Body::empty()).unwrap();
    assert!(client.send(request()).await.is_err(), "not signed by these");

    fixture.write("ca.crt", &fixture.server.authority.certificate_pem);
    assert!(client.send(request()).await.is_err(), "files are not read for each request");
    advance(RELOAD_INTERVAL).await;
    get(&client).await;
    fixture.write("ca.crt", "");
    advance(RELOAD_INTERVAL).await;
    get(&client).await;
}

#[tokio::test(start_paused = true)]
async fn inline_credentials_are_not_reloaded() {
    let mut fixture = Fixture::new().await;
    let (_, mut auth_info) = fixture.identity();
    auth_info.client_certificate = None;
    auth_info.client_key = None;
    auth_info.token = Some("of the kubeconfig itself".to_owned().into());
    let client = fixture.client(auth_info);
    let authorization = Some("Bearer of the kubeconfig itself".to_owned());
    let asked = Asked { certificate: None, authorization };
    assert_eq!(fixture.request(&client).await, asked);
    advance(RELOAD_INTERVAL).await;
    assert_eq!(fixture.request(&client).await, asked);
}

#[tokio::test(start_paused = true)]
async fn without_its_files_there_is_no_client() {
    let fixture = Fixture::new().await;
    let mut config = fixture.server.config();
    config.auth_info.token_file = Some(fixture.path("token"));
    let error = connect(&config).err().unwrap();
    let text = kube_api::error_chain(&error);
    assert!(text.contains("cannot read") && text.contains("token"), "{text}");
}

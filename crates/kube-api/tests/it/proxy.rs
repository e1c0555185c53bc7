//! Requests through a proxy.
use http::Method;
use kube_api::error_chain;
use kube_api::{ApiClient, Encoding, connect};

use scripted_api::loopback::Loopback;
use scripted_api::mutual_tls::{Authority, Server};
use scripted_api::proxies::{Protocol, Proxy};
use scripted_api::script::{Answer, Script, Step};

async fn get(config: &kube::Config) {
    let client = ApiClient::new(connect(config).unwrap(), Encoding::Json, "test/1.0");
    client.get_raw("/version").await.unwrap();
}

/// The configuration with this proxy.
fn through(mut config: kube::Config, proxy: &str) -> kube::Config {
    config.proxy_url = Some(proxy.parse().unwrap());
    config
}

#[tokio::test]
async fn a_server_without_tls_is_reached_by_connect() {
    let mut proxy = Proxy::start(Protocol::Http).await;
    let script = Script::new([Step::new(Method::GET, "/version", Answer::new(200, "", "{}"))]);
    let server = Loopback::start(&script);
    let url = format!("http://me:p%40ss@{}", proxy.address);
    get(&through(Loopback::config(server.address), &url)).await;
    let asked = proxy.asked().await;
    assert!(asked.starts_with(&format!("CONNECT {} HTTP/1.1\r\n", server.address)), "{asked}");
    assert!(asked.contains("Proxy-Authorization: Basic bWU6cEBzcw==\r\n"), "{asked}");
    assert!(!script.seen()[0].headers.contains_key("proxy-authorization"), "for the proxy only");
}

#[tokio::test]
async fn a_server_with_tls_is_reached_by_connect() {
    let mut proxy = Proxy::start(Protocol::Http).await;
    let server = Server::start(&Authority::new("clients")).await;
    get(&through(server.config(), &format!("http://{}", proxy.address))).await;
    let asked = proxy.asked().await;
    assert!(asked.starts_with(&format!("CONNECT {} HTTP/1.1\r\n", server.address())), "{asked}");
    assert!(!asked.contains("Authorization"), "{asked}");
}

#[tokio::test]
async fn a_proxy_with_tls_is_trusted_by_the_authorities_of_the_server() {
    let authority = Authority::new("proxies");
    let acceptor = || authority.issue("127.0.0.1").acceptor(&[]);
    let mut proxy = Proxy::start(Protocol::Https(acceptor())).await;
    let server = Server::start(&Authority::new("clients")).await;
    let mut config = through(server.config(), &format!("https://{}", proxy.address));
    config.root_cert.as_mut().unwrap().push(authority.der());
    get(&config).await;
    let asked = proxy.asked().await;
    assert!(asked.starts_with(&format!("CONNECT {} HTTP/1.1\r\n", server.address())), "{asked}");
}

#[tokio::test]
async fn a_server_is_reached_by_socks() {
    let mut proxy = Proxy::start(Protocol::Socks).await;
    let server = Server::start(&Authority::new("clients")).await;
    get(&through(server.config(), &format!("socks5://{}", proxy.address))).await;
    assert_eq!(proxy.asked().await, server.address().to_string());
}

#[tokio::test]
async fn a_proxy_that_is_not_supported_is_refused_at_once_and_its_password_is_not_shown() {
    let config = through(kube::Config::new("https://k8s".parse().unwrap()), "ftp://me:secret@proxy");
    let error = error_chain(&connect(&config).err().unwrap());
    let expected =
        "proxy-url of the kubeconfig: proxies of scheme \"ftp\" are not supported, use http, https or socks5";
    assert!(error.ends_with(expected) && !error.contains("secret"), "{error}");
}

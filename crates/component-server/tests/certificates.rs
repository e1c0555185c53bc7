//! Which certificate is shown, and what happens when it changes.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

mod support;

use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use component_server::{SecureServer, ServingOptions, SniCertificate};
use http::Method;
use rustls::SupportedProtocolVersion;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::version::{TLS12, TLS13};
use support::client::{Client, Options, fetch, tls};
use support::pki::{Authority, write};
use support::{LIMIT, Setup};
use tokio::net::TcpListener;

async fn shown(address: SocketAddr, server_name: &str) -> CertificateDer<'static> {
    let options = Options { server_name, ..Options::default() };
    Client::connect(address, &options).await.unwrap().certificate
}

/// Waits until a condition that has to come true has come true.
async fn eventually<F: Future<Output = bool>>(condition: impl Fn() -> F) {
    let wait = async {
        while !condition().await {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(LIMIT, wait).await.expect("comes true");
}

#[tokio::test]
async fn a_self_signed_pair_is_kept_and_used_again() {
    let folder = tempfile::tempdir().unwrap();
    let kept = folder.path().join("deeper");
    let pair = || {
        let mut setup = Setup::default();
        setup.serving.cert_dir = Some(kept.clone());
        setup.serving.pair_name = "kube-controller-manager".to_owned();
        setup
    };
    let server = pair().start().await;
    let first = shown(server.address, "localhost").await;
    server.stop().await;
    let [certificate, key] = ["crt", "key"].map(|end| kept.join(format!("kube-controller-manager.{end}")));
    let mode = |path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&certificate) & !0o022, mode(&key)), (0o644 & mode(&certificate), 0o600));
    assert_eq!(CertificateDer::from_pem_file(&certificate).unwrap(), first);
    let server = pair().start().await;
    assert_eq!(shown(server.address, "localhost").await, first);
    server.stop().await;
    std::fs::remove_file(&key).unwrap();
    let server = pair().start().await;
    assert_ne!(shown(server.address, "localhost").await, first, "half a pair is none");
}

#[tokio::test]
async fn a_new_certificate_is_served_once_its_key_is_there() {
    let (folder, authority) = (tempfile::tempdir().unwrap(), Authority::new("ca"));
    let (old, new) = (authority.server(&["localhost"]), authority.server(&["localhost"]));
    let (certificate, key) = old.write(folder.path(), "tls");
    let mut setup = Setup::default();
    setup.serving.tls_cert_file = Some(certificate);
    setup.serving.tls_private_key_file = Some(key);
    let server = setup.start().await;
    let address = server.address;
    let mut lasting = Client::connect(address, &Options::default()).await.unwrap();
    assert_eq!(lasting.certificate, old.certificate);

    write(folder.path(), "tls.crt", &new.certificate_pem);
    for _ in 0..10 {
        assert_eq!(shown(address, "localhost").await, old.certificate, "the key is not there yet");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    write(folder.path(), "tls.key", &new.key_pem);
    eventually(|| async { shown(address, "localhost").await == new.certificate }).await;
    assert_eq!(lasting.get("/healthz").await.unwrap().status, 200, "open connections don't mind");

    std::fs::remove_file(folder.path().join("tls.key")).unwrap();
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert_eq!(shown(address, "localhost").await, new.certificate);
}

#[tokio::test]
async fn names_choose_certificates_and_those_change_too() {
    let (folder, authority) = (tempfile::tempdir().unwrap(), Authority::new("ca"));
    let (plain, named) = (authority.server(&["localhost"]), authority.server(&["named.example"]));
    let (certificate, key) = plain.write(folder.path(), "plain");
    let (cert_file, key_file) = named.write(folder.path(), "named");
    let mut setup = Setup::default();
    setup.serving.tls_cert_file = Some(certificate);
    setup.serving.tls_private_key_file = Some(key);
    setup.serving.tls_sni_cert_key =
        vec![SniCertificate { cert_file, key_file, names: vec!["*.wild.example".to_owned()] }];
    let server = setup.start().await;
    let address = server.address;
    assert_eq!(shown(address, "localhost").await, plain.certificate);
    assert_eq!(shown(address, "named.example").await, plain.certificate, "the flag's names count");
    assert_eq!(shown(address, "a.wild.example").await, named.certificate);
    let renamed = authority.server(&["named.example"]);
    renamed.write(folder.path(), "named");
    eventually(|| async { shown(address, "a.wild.example").await == renamed.certificate }).await;
}

#[tokio::test]
async fn authorities_of_clients_change_without_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let (old, new, proxies) = (Authority::new("old"), Authority::new("new"), Authority::new("proxies"));
    let file = write(folder.path(), "clients.crt", &old.pem);
    let proxy_file = write(folder.path(), "proxies.crt", &proxies.pem);
    let server = Setup::trusting(&file, &proxy_file).start().await;
    let bob = new.client("bob", &["system:masters"]);
    let options = Options { identity: Some(&bob), ..Options::default() };
    let status = async || fetch(server.address, &options, Method::GET, "/no-such", &[]).await.status;
    assert_eq!(status().await, 401);
    let mut lasting = Client::connect(server.address, &options).await.unwrap();
    assert_eq!(lasting.get("/no-such").await.unwrap().status, 401);
    write(folder.path(), "clients.crt", &new.pem);
    eventually(|| async { status().await == 404 }).await;
    assert_eq!(lasting.get("/no-such").await.unwrap().status, 404, "judged by each request");
    write(folder.path(), "clients.crt", "rubbish");
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert_eq!(status().await, 404, "rubbish changes nothing");
}

async fn speaks(address: SocketAddr, options: &Options<'_>) -> bool {
    tls(address, options).await.is_ok()
}

#[tokio::test]
async fn versions_and_suites_are_those_of_the_flags() {
    static OLD: &[&SupportedProtocolVersion] = &[&TLS12];
    static NEW: &[&SupportedProtocolVersion] = &[&TLS13];
    let [old, new] = [OLD, NEW].map(|versions| Options { versions, ..Options::default() });
    let start = async |change: fn(&mut ServingOptions)| {
        let mut setup = Setup::default();
        change(&mut setup.serving);
        setup.start().await
    };
    let server = start(|_| ()).await;
    assert!(speaks(server.address, &old).await && speaks(server.address, &new).await);
    let server = start(|serving| serving.tls_min_version = "VersionTLS13".to_owned()).await;
    assert!(!speaks(server.address, &old).await && speaks(server.address, &new).await);
    let suite = "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384";
    let server =
        start(|serving| serving.tls_cipher_suites = vec!["TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384".into()])
            .await;
    let stream = tls(server.address, &old).await.unwrap();
    let spoken = stream.get_ref().1.negotiated_cipher_suite().unwrap().suite();
    assert_eq!(format!("{spoken:?}"), suite);
    let server = start(|serving| serving.disable_http2_serving = true).await;
    assert!(!speaks(server.address, &Options { http2: true, ..Options::default() }).await);
    assert!(speaks(server.address, &Options::default()).await);
}

#[tokio::test]
async fn a_server_that_cannot_be_says_why() {
    let error = async |change: fn(&mut ServingOptions)| {
        let mut options = ServingOptions { secure_port: 1, ..ServingOptions::default() };
        change(&mut options);
        kube_api::error_chain(&SecureServer::bind(&options).await.err().unwrap())
    };
    let flags = error(|options| {
        options.secure_port = 70000;
        options.tls_min_version = "x".to_owned();
    });
    let expected = "--secure-port 70000 must be between 0 and 65535, inclusive. 0 for turning off secure port, \
                    --tls-min-version: unknown tls version \"x\"";
    assert_eq!(flags.await, expected);
    let foreign = error(|options| options.bind_address = "203.0.113.1".parse().unwrap()).await;
    assert!(
        foreign.starts_with("failed to create listener: failed to listen on 203.0.113.1:1: "),
        "{foreign}"
    );

    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let missing = ServingOptions {
        tls_cert_file: Some("/no/such.crt".into()),
        tls_private_key_file: Some("/no/such.key".into()),
        ..ServingOptions::default()
    };
    let error = SecureServer::with_listener(listener, &missing).await.err().unwrap();
    let message = kube_api::error_chain(&error);
    let expected =
        "unable to load the serving certificate: cannot read /no/such.crt: No such file or directory";
    assert!(message.starts_with(expected), "{message}");
}

#[tokio::test]
async fn port_0_is_no_server() {
    assert!(SecureServer::bind(&ServingOptions::default()).await.unwrap().is_none());
}

/// A free port, given back before it is used: another process may be faster, so it is tried more than once.
#[tokio::test]
async fn an_unspecified_address_is_every_address() {
    for attempt in 0.. {
        let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let options = ServingOptions { secure_port: free.into(), ..ServingOptions::default() };
        match SecureServer::bind(&options).await {
            Ok(server) => {
                let server = server.unwrap();
                let address = server.local_addr().unwrap();
                assert!(address.ip().is_unspecified() && address.port() == free, "{address}");
                tokio::net::TcpStream::connect(("127.0.0.1", free)).await.unwrap();
                return;
            }
            Err(error) => assert!(attempt < 10, "{error}"),
        }
    }
}

//! Serving certificates and TLS settings, and their changes at run time.

use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use crate::support::client::{Client, Options, fetch, tls};
use crate::support::{Setup, eventually};
use component_server::{SecureServer, ServingOptions, SniCertificate};
use http::Method;
use rustls::SupportedProtocolVersion;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::version::{TLS12, TLS13};
use scripted_api::pki::{Authority, write};
use tokio::net::TcpListener;

async fn served(address: SocketAddr, server_name: &str) -> CertificateDer<'static> {
    let options = Options { server_name, ..Options::default() };
    Client::connect(address, &options).await.unwrap().certificate
}

#[tokio::test]
async fn a_self_signed_pair_is_kept_across_restarts() {
    let directory = tempfile::tempdir().unwrap();
    let kept = directory.path().join("deeper");
    let pair = || {
        let mut setup = Setup::default();
        setup.serving.cert_dir = Some(kept.clone());
        setup.serving.pair_name = "kube-controller-manager".to_owned();
        setup
    };
    let server = pair().start().await;
    let first = served(server.address, "localhost").await;
    server.stop().await;
    let [certificate, key] = ["crt", "key"].map(|end| kept.join(format!("kube-controller-manager.{end}")));
    let mode = |path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&certificate) & !0o022, mode(&key)), (0o644 & mode(&certificate), 0o600));
    assert_eq!(CertificateDer::from_pem_file(&certificate).unwrap(), first);
    let server = pair().start().await;
    assert_eq!(served(server.address, "localhost").await, first);
    server.stop().await;
    std::fs::remove_file(&key).unwrap();
    let server = pair().start().await;
    assert_ne!(served(server.address, "localhost").await, first, "a certificate without its key is replaced");
    server.stop().await;

    // Killed while it wrote: the new files are there, one of them in part and for anyone to read, and a pair is not.
    std::fs::remove_file(&certificate).unwrap();
    write(&kept, "kube-controller-manager.crt.new", "-----BEGIN CERTI");
    write(&kept, "kube-controller-manager.key.new", "");
    let server = pair().start().await;
    let served = served(server.address, "localhost").await;
    assert_eq!((CertificateDer::from_pem_file(&certificate).unwrap(), mode(&key)), (served, 0o600));
    assert_eq!(std::fs::read_dir(&kept).unwrap().count(), 2, "nothing is left behind");
}

#[tokio::test]
async fn a_new_certificate_is_served_once_its_key_is_written() {
    let (directory, authority) = (tempfile::tempdir().unwrap(), Authority::new("ca"));
    let (old, new) = (authority.issue("localhost"), authority.issue("localhost"));
    let (certificate, key) = old.write(directory.path(), "tls");
    let mut setup = Setup::default();
    setup.serving.tls_cert_file = Some(certificate);
    setup.serving.tls_private_key_file = Some(key);
    let server = setup.start().await;
    let address = server.address;
    let mut open = Client::connect(address, &Options::default()).await.unwrap();
    assert_eq!(open.certificate, old.certificate);

    write(directory.path(), "tls.crt", &new.certificate_pem);
    for _ in 0..10 {
        assert_eq!(served(address, "localhost").await, old.certificate, "the key is not written yet");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    write(directory.path(), "tls.key", &new.key_pem);
    eventually(async || served(address, "localhost").await == new.certificate).await;
    assert_eq!(open.get("/healthz").await.unwrap().status, 200, "open connections are unaffected");

    std::fs::remove_file(directory.path().join("tls.key")).unwrap();
    write(directory.path(), "tls.crt", "nonsense");
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert_eq!(served(address, "localhost").await, new.certificate);
}

#[tokio::test]
async fn certificates_for_server_names_are_reloaded() {
    let (directory, authority) = (tempfile::tempdir().unwrap(), Authority::new("ca"));
    let (plain, named) = (authority.issue("localhost"), authority.issue("named.example"));
    let (certificate, key) = plain.write(directory.path(), "plain");
    let (cert_file, key_file) = named.write(directory.path(), "named");
    let mut setup = Setup::default();
    setup.serving.tls_cert_file = Some(certificate);
    setup.serving.tls_private_key_file = Some(key);
    setup.serving.tls_sni_cert_key =
        vec![SniCertificate { cert_file, key_file, names: vec!["*.wild.example".to_owned()] }];
    let server = setup.start().await;
    let address = server.address;
    assert_eq!(served(address, "localhost").await, plain.certificate);
    assert_eq!(
        served(address, "named.example").await,
        plain.certificate,
        "only the names of the flag are used"
    );
    assert_eq!(served(address, "a.wild.example").await, named.certificate);
    let renamed = authority.issue("named.example");
    renamed.write(directory.path(), "named");
    eventually(async || served(address, "a.wild.example").await == renamed.certificate).await;
}

#[tokio::test]
async fn client_cas_are_reloaded() {
    let directory = tempfile::tempdir().unwrap();
    let (old, new, proxies) = (Authority::new("old"), Authority::new("new"), Authority::new("proxies"));
    let file = write(directory.path(), "clients.crt", &old.certificate_pem);
    let proxy_file = write(directory.path(), "proxies.crt", &proxies.certificate_pem);
    let server = Setup::trusting(&file, &proxy_file).start().await;
    let bob = new.client_called("bob", &["system:masters"]);
    let options = Options { identity: Some(&bob), ..Options::default() };
    let status = async || fetch(server.address, &options, Method::GET, "/no-such", &[]).await.status;
    assert_eq!(status().await, 401);
    let mut open = Client::connect(server.address, &options).await.unwrap();
    assert_eq!(open.get("/no-such").await.unwrap().status, 401);
    write(directory.path(), "clients.crt", &new.certificate_pem);
    eventually(async || status().await == 404).await;
    assert_eq!(open.get("/no-such").await.unwrap().status, 404, "verified for each request");
    write(directory.path(), "clients.crt", "rubbish");
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert_eq!(status().await, 404, "an invalid file changes nothing");
}

async fn connects(address: SocketAddr, options: &Options<'_>) -> bool {
    tls(address, options).await.is_ok()
}

#[tokio::test]
async fn flags_set_versions_and_suites() {
    static OLD: &[&SupportedProtocolVersion] = &[&TLS12];
    static NEW: &[&SupportedProtocolVersion] = &[&TLS13];
    let [old, new] = [OLD, NEW].map(|versions| Options { versions, ..Options::default() });
    let start = async |change: fn(&mut ServingOptions)| {
        let mut setup = Setup::default();
        change(&mut setup.serving);
        setup.start().await
    };
    let server = start(|_| ()).await;
    assert!(connects(server.address, &old).await && connects(server.address, &new).await);
    let server = start(|serving| serving.tls_min_version = "VersionTLS13".to_owned()).await;
    assert!(!connects(server.address, &old).await && connects(server.address, &new).await);
    let suite = "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384";
    let server =
        start(|serving| serving.tls_cipher_suites = vec!["TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384".into()])
            .await;
    let stream = tls(server.address, &old).await.unwrap();
    let suite_in_use = stream.get_ref().1.negotiated_cipher_suite().unwrap().suite();
    assert_eq!(format!("{suite_in_use:?}"), suite);
    let server = start(|serving| serving.disable_http2_serving = true).await;
    assert!(!connects(server.address, &Options { http2: true, ..Options::default() }).await);
    assert!(connects(server.address, &Options::default()).await);
}

#[tokio::test]
async fn errors_at_start_name_flag_address_or_file() {
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
    let other_host = error(|options| options.bind_address = "203.0.113.1".parse().unwrap()).await;
    assert!(
        other_host.starts_with("failed to create listener: failed to listen on 203.0.113.1:1: "),
        "{other_host}"
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
async fn port_0_disables_the_server() {
    assert!(SecureServer::bind(&ServingOptions::default()).await.unwrap().is_none());
}

/// The port is freed before it is used, so another process may take it: the test tries several times.
#[tokio::test]
async fn an_unspecified_address_means_all_addresses() {
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

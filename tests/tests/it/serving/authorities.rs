//! Client certificates that are accepted, and others.

use std::path::Path;

use rcgen::{
    BasicConstraints, Certificate, CertificateParams, CustomExtension, ExtendedKeyUsagePurpose, IsCa, Issuer,
    KeyPair, KeyUsagePurpose, date_time_ymd,
};
use tests::cluster::{self, Cluster, ClusterOptions};
use tests::manager::{Kind, Manager};
use tests::pages::Pages;

use super::clients::{self, FRONT_PROXY, kubeconfig};
use super::tls::{Pair, named};
use super::{DELEGATE, options};

type Change = fn(&mut CertificateParams);

/// A chain from a client certificate to the bundle, and the verdict of both servers.
struct Chain {
    name: &'static str,
    root: Change,
    /// Certificates between the root and the client's, the root's neighbour first.
    intermediates: &'static [Change],
    client: Change,
    /// The client presents the certificate that is in the bundle.
    is_pinned: bool,
    is_accepted: bool,
}

const DIRECT: Chain = Chain {
    name: "direct",
    root: unchanged,
    intermediates: &[],
    client: unchanged,
    is_pinned: false,
    is_accepted: true,
};

const REFUSED: Chain = Chain { is_accepted: false, ..DIRECT };

const CHAINS: &[Chain] = &[
    DIRECT,
    Chain { name: "through an intermediate", intermediates: &[unchanged], ..DIRECT },
    Chain { name: "root without key usage", root: |params| params.key_usages.clear(), ..DIRECT },
    Chain { name: "root for any purpose", root: for_any_purpose, ..DIRECT },
    Chain { name: "client for any purpose", client: for_any_purpose, ..DIRECT },
    Chain { name: "client without purposes", client: |params| params.extended_key_usages.clear(), ..DIRECT },
    Chain { name: "client for servers too", client: for_servers_too, ..DIRECT },
    Chain { name: "pinned certificate itself", root: no_authority, is_pinned: true, ..DIRECT },
    Chain { name: "pinned certificate vouches", root: no_authority, ..REFUSED },
    Chain { name: "silent certificate vouches", root: |params| params.is_ca = IsCa::NoCa, ..REFUSED },
    Chain { name: "pinned and expired", root: expired, is_pinned: true, ..REFUSED },
    Chain { name: "pinned for servers", root: only_for_servers, is_pinned: true, ..REFUSED },
    Chain { name: "expired root", root: expired, ..REFUSED },
    Chain { name: "root of tomorrow", root: not_yet_valid, ..REFUSED },
    Chain { name: "root for servers", root: only_for_servers, ..REFUSED },
    Chain { name: "root that may not sign", root: only_signs_data, ..REFUSED },
    Chain { name: "root with a riddle", root: critical_and_unknown, ..REFUSED },
    Chain { name: "path too long", root: only_last, intermediates: &[unchanged], ..REFUSED },
    Chain { name: "path of two too long", intermediates: &[only_last, unchanged], ..REFUSED },
    Chain { name: "expired intermediate", intermediates: &[expired], ..REFUSED },
    Chain { name: "intermediate for servers", intermediates: &[only_for_servers], ..REFUSED },
    Chain { name: "intermediate that may not sign", intermediates: &[only_signs_data], ..REFUSED },
    Chain { name: "intermediate that is none", intermediates: &[no_authority], ..REFUSED },
    Chain { name: "silent intermediate", intermediates: &[|params| params.is_ca = IsCa::NoCa], ..REFUSED },
    Chain { name: "intermediate of tomorrow", intermediates: &[not_yet_valid], ..REFUSED },
    Chain { name: "intermediate with a riddle", intermediates: &[critical_and_unknown], ..REFUSED },
    Chain { name: "expired client", client: expired, ..REFUSED },
    Chain { name: "client for servers", client: only_for_servers, ..REFUSED },
];

fn unchanged(_: &mut CertificateParams) {}

fn expired(params: &mut CertificateParams) {
    params.not_before = date_time_ymd(2020, 1, 1);
    params.not_after = date_time_ymd(2021, 1, 1);
}

fn not_yet_valid(params: &mut CertificateParams) {
    params.not_before = date_time_ymd(4000, 1, 1);
}

fn no_authority(params: &mut CertificateParams) {
    params.is_ca = IsCa::ExplicitNoCa;
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
}

fn only_for_servers(params: &mut CertificateParams) {
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
}

fn for_servers_too(params: &mut CertificateParams) {
    params.extended_key_usages.push(ExtendedKeyUsagePurpose::ServerAuth);
}

fn for_any_purpose(params: &mut CertificateParams) {
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::Any];
}

fn only_signs_data(params: &mut CertificateParams) {
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
}

fn only_last(params: &mut CertificateParams) {
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
}

fn critical_and_unknown(params: &mut CertificateParams) {
    let mut extension = CustomExtension::from_oid_content(&[1, 3, 6, 1, 4, 1, 57683, 99], vec![5, 0]);
    extension.set_criticality(true);
    params.custom_extensions = vec![extension];
}

/// The files of a client, and the certificate that has to be in the bundle.
struct ClientFiles {
    pair: Pair,
    root_pem: String,
}

impl Chain {
    fn make(&self, folder: &Path, index: usize, subject: &str, groups: &[&str]) -> ClientFiles {
        let authority = |level: usize, change: Change| {
            let mut params = named(&format!("authority {index} {level}"), &[]);
            if self.is_pinned {
                params = named(subject, groups);
            }
            params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
            params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
            change(&mut params);
            (params, KeyPair::generate().unwrap())
        };
        let (params, key) = authority(0, self.root);
        let root = params.self_signed(&key).unwrap();
        if self.is_pinned {
            return write_files(folder, index, subject, &[&root], &key, &root);
        }
        let mut chain: Vec<Certificate> = Vec::new();
        let mut issuer = Issuer::new(params, key);
        for (level, change) in self.intermediates.iter().enumerate() {
            let (params, key) = authority(level + 1, *change);
            chain.insert(0, params.signed_by(&key, &issuer).unwrap());
            issuer = Issuer::new(params, key);
        }
        let mut params = named(subject, groups);
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        (self.client)(&mut params);
        let key = KeyPair::generate().unwrap();
        chain.insert(0, params.signed_by(&key, &issuer).unwrap());
        write_files(folder, index, subject, &chain.iter().collect::<Vec<_>>(), &key, &root)
    }
}

fn write_files(
    folder: &Path,
    index: usize,
    subject: &str,
    chain: &[&Certificate],
    key: &KeyPair,
    root: &Certificate,
) -> ClientFiles {
    let [certificate_file, key_file] =
        ["crt", "key"].map(|end| folder.join(format!("{subject}-{index}.{end}")));
    let pem: String = chain.iter().map(|certificate| certificate.pem()).collect();
    std::fs::write(&certificate_file, pem).unwrap();
    std::fs::write(&key_file, key.serialize_pem()).unwrap();
    ClientFiles { pair: Pair { certificate: certificate_file, key: key_file }, root_pem: root.pem() }
}

/// Neither `--client-ca-file` nor `--requestheader-client-ca-file` accepts a certificate that is not an authority as one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn client_certificates_are_verified_as_upstream_verifies_them() {
    let folder = tempfile::tempdir().unwrap();
    let make = |subject: &str, groups: &[&str]| -> Vec<ClientFiles> {
        let chains = CHAINS.iter().enumerate();
        chains.map(|(index, chain)| chain.make(folder.path(), index, subject, groups)).collect()
    };
    let (people, proxies) = (make("root", &["system:masters"]), make(FRONT_PROXY, &[]));
    let bundle = |name: &str, clients: &[ClientFiles]| {
        let file = folder.path().join(name);
        std::fs::write(&file, clients.iter().map(|client| client.root_pem.as_str()).collect::<String>())
            .unwrap();
        file.display().to_string()
    };
    let cluster = Cluster::start(ClusterOptions::default()).await;
    clients::grant(&cluster.client()).await;
    let mut options = options();
    options.flags.extend([
        format!("--client-ca-file={}", bundle("people.crt", &people)),
        format!("--requestheader-client-ca-file={}", bundle("proxies.crt", &proxies)),
        format!("--requestheader-allowed-names={FRONT_PROXY}"),
    ]);
    let (upstream, ours) = tokio::join!(
        Box::pin(Manager::delegating(Kind::Upstream, &cluster, &options, DELEGATE)),
        Box::pin(Manager::delegating(Kind::Ours, &cluster, &options, DELEGATE)),
    );
    let mut deviations = Vec::new();
    for manager in [&upstream, &ours] {
        for (chain, (person, proxy)) in CHAINS.iter().zip(people.iter().zip(&proxies)) {
            let expected = if chain.is_accepted { 200 } else { 401 };
            for (who, pair, headers) in
                [("person", &person.pair, &[][..]), ("proxy", &proxy.pair, ROOT_HEADERS)]
            {
                let status = status(folder.path(), manager, pair, headers).await;
                if status != expected {
                    deviations.push(format!(
                        "{}: {}, as {who}: {status}, not {expected}",
                        manager.name(),
                        chain.name
                    ));
                }
            }
        }
    }
    assert!(deviations.is_empty(), "{}", deviations.join("\n"));
}

const ROOT_HEADERS: &[(&str, &str)] = &[("x-remote-user", "root"), ("x-remote-group", "system:masters")];

/// The status of a page that only an administrator may read.
async fn status(folder: &Path, manager: &Manager, pair: &Pair, headers: &[(&str, &str)]) -> u16 {
    let file = folder.join("kubeconfig");
    std::fs::write(&file, kubeconfig(manager.port(), pair).to_string()).unwrap();
    let pages = Pages::by(cluster::client(&file).await.unwrap());
    let mut request = http::Request::builder().uri("/configz");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    pages.send(request.body(Vec::new()).unwrap()).await.unwrap().status
}

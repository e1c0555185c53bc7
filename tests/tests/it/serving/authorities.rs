//! Client certificates that are believed, and others.

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

/// A way to an authority of the bundle, and whether both servers take it.
struct Way {
    name: &'static str,
    root: Change,
    /// Certificates between the root and the client's, the root's neighbour first.
    intermediates: &'static [Change],
    client: Change,
    /// The client shows the certificate that stands in the bundle.
    is_pinned: bool,
    is_believed: bool,
}

const DIRECT: Way = Way {
    name: "direct",
    root: unchanged,
    intermediates: &[],
    client: unchanged,
    is_pinned: false,
    is_believed: true,
};

const WAYS: &[Way] = &[
    DIRECT,
    Way { name: "through an intermediate", intermediates: &[unchanged], ..DIRECT },
    Way { name: "root without key usage", root: |params| params.key_usages.clear(), ..DIRECT },
    Way { name: "root for any purpose", root: for_any_purpose, ..DIRECT },
    Way { name: "client for any purpose", client: for_any_purpose, ..DIRECT },
    Way { name: "pinned certificate itself", root: no_authority, is_pinned: true, ..DIRECT },
    Way { name: "pinned certificate vouches", root: no_authority, is_believed: false, ..DIRECT },
    Way {
        name: "silent certificate vouches",
        root: |params| params.is_ca = IsCa::NoCa,
        is_believed: false,
        ..DIRECT
    },
    Way { name: "pinned and expired", root: expired, is_pinned: true, is_believed: false, ..DIRECT },
    Way { name: "expired root", root: expired, is_believed: false, ..DIRECT },
    Way { name: "root of tomorrow", root: not_yet_valid, is_believed: false, ..DIRECT },
    Way { name: "root for servers", root: only_for_servers, is_believed: false, ..DIRECT },
    Way { name: "root that may not sign", root: only_signs_data, is_believed: false, ..DIRECT },
    Way { name: "root with a riddle", root: critical_and_unknown, is_believed: false, ..DIRECT },
    Way { name: "path too long", root: only_last, intermediates: &[unchanged], is_believed: false, ..DIRECT },
    Way {
        name: "path of two too long",
        intermediates: &[only_last, unchanged],
        is_believed: false,
        ..DIRECT
    },
    Way { name: "expired intermediate", intermediates: &[expired], is_believed: false, ..DIRECT },
    Way {
        name: "intermediate for servers",
        intermediates: &[only_for_servers],
        is_believed: false,
        ..DIRECT
    },
    Way {
        name: "intermediate that may not sign",
        intermediates: &[only_signs_data],
        is_believed: false,
        ..DIRECT
    },
    Way { name: "intermediate that is none", intermediates: &[no_authority], is_believed: false, ..DIRECT },
    Way { name: "expired client", client: expired, is_believed: false, ..DIRECT },
    Way { name: "client for servers", client: only_for_servers, is_believed: false, ..DIRECT },
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

/// Files that a client shows, and the certificate that has to be in the bundle.
struct Shown {
    pair: Pair,
    root_pem: String,
}

impl Way {
    fn make(&self, folder: &Path, index: usize, subject: &str, groups: &[&str]) -> Shown {
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
            return shown(folder, index, subject, &[&root], &key, &root);
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
        shown(folder, index, subject, &chain.iter().collect::<Vec<_>>(), &key, &root)
    }
}

fn shown(
    folder: &Path,
    index: usize,
    subject: &str,
    chain: &[&Certificate],
    key: &KeyPair,
    root: &Certificate,
) -> Shown {
    let [certificate_file, key_file] =
        ["crt", "key"].map(|end| folder.join(format!("{subject}-{index}.{end}")));
    let pem: String = chain.iter().map(|certificate| certificate.pem()).collect();
    std::fs::write(&certificate_file, pem).unwrap();
    std::fs::write(&key_file, key.serialize_pem()).unwrap();
    Shown { pair: Pair { certificate: certificate_file, key: key_file }, root_pem: root.pem() }
}

/// Neither `--client-ca-file` nor `--requestheader-client-ca-file` accepts a certificate that is no authority as one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn client_certificates_are_verified_as_upstream_verifies_them() {
    let folder = tempfile::tempdir().unwrap();
    let make = |subject: &str, groups: &[&str]| -> Vec<Shown> {
        let ways = WAYS.iter().enumerate();
        ways.map(|(index, way)| way.make(folder.path(), index, subject, groups)).collect()
    };
    let (people, proxies) = (make("root", &["system:masters"]), make(FRONT_PROXY, &[]));
    let bundle = |name: &str, shown: &[Shown]| {
        let file = folder.path().join(name);
        std::fs::write(&file, shown.iter().map(|shown| shown.root_pem.as_str()).collect::<String>()).unwrap();
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
    let mut objections = Vec::new();
    for manager in [&upstream, &ours] {
        for (way, (person, proxy)) in WAYS.iter().zip(people.iter().zip(&proxies)) {
            let expected = if way.is_believed { 200 } else { 401 };
            for (who, pair, headers) in
                [("person", &person.pair, &[][..]), ("proxy", &proxy.pair, SPEAKS_FOR_ROOT)]
            {
                let status = status(folder.path(), manager, pair, headers).await;
                if status != expected {
                    objections.push(format!(
                        "{}: {}, as {who}: {status}, not {expected}",
                        manager.name(),
                        way.name
                    ));
                }
            }
        }
    }
    assert!(objections.is_empty(), "{}", objections.join("\n"));
}

const SPEAKS_FOR_ROOT: &[(&str, &str)] = &[("x-remote-user", "root"), ("x-remote-group", "system:masters")];

/// Of a page that only an administrator may see.
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

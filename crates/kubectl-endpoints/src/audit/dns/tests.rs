//! A cluster and a DNS server in memory.

use std::collections::HashMap;
use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use embedded_apiserver::ApiServer;
use endpoint_diagnostics::audit::Finding;
use serde_json::{Value, json};
use simple_dns::rdata::{A, RData};
use simple_dns::{CLASS, Packet, ResourceRecord, TYPE};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use super::*;

const DOMAIN: &str = "cluster.local";
/// Sockets don't follow a paused clock.
const TIMEOUT: Duration = Duration::from_millis(800);

/// The questions that a connection is for.
const MAX_QUESTIONS: usize = 20;
/// A name that the server cannot answer for.
const REFUSED: &str = "refused";

/// The IPv4 addresses by name, which a test changes.
type Zone = Arc<Mutex<HashMap<String, Vec<Ipv4Addr>>>>;

/// A server of a zone; names that are not in it do not exist.
async fn serve(zone: Zone) -> SocketAddr {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(answer(stream, Arc::clone(&zone)));
        }
    });
    address
}

async fn answer(mut stream: TcpStream, zone: Zone) -> Option<()> {
    for _ in 0..MAX_QUESTIONS {
        let mut query = vec![0; usize::from(stream.read_u16().await.ok()?)];
        stream.read_exact(&mut query).await.ok()?;
        let query = Packet::parse(&query).unwrap();
        let [question] = &query.questions[..] else { panic!("{query:?}") };
        let mut reply = Packet::new_reply(query.id());
        let addresses = zone.lock().unwrap().get(&question.qname.to_string()).cloned();
        match addresses {
            None if question.qname.to_string().starts_with(REFUSED) => {
                *reply.rcode_mut() = simple_dns::RCODE::ServerFailure;
            }
            None => *reply.rcode_mut() = simple_dns::RCODE::NameError,
            Some(addresses) if question.qtype == TYPE::A.into() => {
                let record = |address: Ipv4Addr| {
                    let data = RData::A(A { address: address.to_bits() });
                    ResourceRecord::new(question.qname.clone(), CLASS::IN, 5, data)
                };
                reply.answers.extend(addresses.into_iter().map(record));
            }
            Some(_) => {}
        }
        let reply = reply.build_bytes_vec().unwrap();
        stream.write_all(&u16::try_from(reply.len()).unwrap().to_be_bytes()).await.ok()?;
        stream.write_all(&reply).await.ok()?;
    }
    Some(())
}

/// A headless Service with one slice.
async fn headless(cluster: &Cluster, name: &str, addresses: &[&str]) {
    let spec = json!({"clusterIP": "None", "ports": [{"port": 80}]});
    let service = json!({"metadata": {"name": name}, "spec": spec});
    let services = "/api/v1/namespaces/default/services";
    let _: Value = cluster.client.create_json(services, &service).await.unwrap();
    let endpoints: Value = addresses.iter().map(|address| json!({"addresses": [address]})).collect();
    let slice = json!({
        "metadata": {"name": name, "labels": {"kubernetes.io/service-name": name}},
        "addressType": "IPv4",
        "endpoints": endpoints,
        "ports": [{"port": 80}],
    });
    let slices = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices";
    let _: Value = cluster.client.create_json(slices, &slice).await.unwrap();
}

/// A zone with these names of the namespace `default`, and that of the API server.
fn zone(names: &[(&str, &[[u8; 4]])]) -> Zone {
    let api_server: (&str, &[[u8; 4]]) = ("kubernetes", &[[10, 0, 0, 1]]);
    let entries = names.iter().chain([&api_server]).map(|(name, addresses)| {
        (format!("{name}.default.svc.{DOMAIN}"), addresses.iter().map(|it| Ipv4Addr::from(*it)).collect())
    });
    Arc::new(Mutex::new(entries.collect()))
}

/// The findings, and whether all was compared.
async fn checked(cluster: &Cluster, servers: Vec<SocketAddr>) -> Result<(Vec<Finding>, bool), Failure> {
    let dns = Dns { servers, timeout: TIMEOUT, domain: DOMAIN.to_owned() };
    let asked = check(&dns, cluster, &cluster.read().await?).await?;
    Ok((asked.findings, !asked.is_incomplete))
}

#[tokio::test]
async fn a_server_that_follows_is_in_order_and_one_that_does_not_is_named() {
    let cluster = Cluster::in_memory(&ApiServer::new());
    headless(&cluster, "peers", &["10.1.0.1", "10.1.0.2"]).await;
    headless(&cluster, "db", &["10.1.0.3"]).await;
    let right: &[(&str, &[[u8; 4]])] =
        &[("peers", &[[10, 1, 0, 1], [10, 1, 0, 2]]), ("db", &[[10, 1, 0, 3]])];
    let wrong: &[(&str, &[[u8; 4]])] =
        &[("peers", &[[10, 1, 0, 1], [10, 1, 0, 9]]), ("db", &[[10, 1, 0, 3]])];
    let (follows, frozen) = (serve(zone(right)).await, serve(zone(wrong)).await);
    let (found, is_complete) = checked(&cluster, vec![follows, frozen]).await.unwrap();
    assert!(is_complete);
    let [finding] = &found[..] else { panic!("{found:?}") };
    assert_eq!((&*finding.object.name, finding.rule), ("peers", "dns-out-of-sync"));
    let expected = format!(
        "DNS server {frozen} has answered 10.1.0.9, which no slice has as ready, and has not answered 10.1.0.2, which slices have \
         as ready"
    );
    assert!(finding.message.ends_with(&expected), "{}", finding.message);
}

#[tokio::test]
async fn a_server_that_is_late_is_in_order() {
    let cluster = Cluster::in_memory(&ApiServer::new());
    headless(&cluster, "peers", &["10.1.0.1"]).await;
    let late = zone(&[]);
    let address = serve(Arc::clone(&late)).await;
    let follow = async {
        sleep(TIMEOUT / 2).await;
        late.lock().unwrap().extend(zone(&[("peers", &[[10, 1, 0, 1]])]).lock().unwrap().drain());
    };
    let (found, ()) = tokio::join!(checked(&cluster, vec![address]), follow);
    assert_eq!(found, Ok((Vec::new(), true)));
}

#[tokio::test]
async fn what_a_server_does_not_answer_is_not_in_order() {
    let cluster = Cluster::in_memory(&ApiServer::new());
    headless(&cluster, "peers", &["10.1.0.1"]).await;
    headless(&cluster, REFUSED, &["10.1.0.2"]).await;
    let address = serve(zone(&[("peers", &[[10, 1, 0, 1]])])).await;
    assert_eq!(checked(&cluster, vec![address]).await, Ok((Vec::new(), false)));
}

#[tokio::test]
async fn a_server_may_close_connections_after_some_questions() {
    let cluster = Cluster::in_memory(&ApiServer::new());
    let names: Vec<String> = (0..MAX_QUESTIONS).map(|number| format!("peers-{number}")).collect();
    let mut all: Vec<(&str, &[[u8; 4]])> = Vec::new();
    for name in &names {
        headless(&cluster, name, &["10.1.0.1"]).await;
        all.push((name, &[[10, 1, 0, 1]]));
    }
    let address = serve(zone(&all)).await;
    assert_eq!(checked(&cluster, vec![address]).await, Ok((Vec::new(), true)));
}

#[tokio::test]
async fn a_late_answer_is_not_taken_for_the_next_one() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let mut client = client::Client::connect(listener.local_addr().unwrap()).await.unwrap();
    tokio::spawn(async move {
        drop(listener.accept().await);
        let (late, _) = listener.accept().await.unwrap();
        late.readable().await.unwrap();
        // The question is there, and nothing else comes: the time advances.
        tokio::time::pause();
        let (next, _) = listener.accept().await.unwrap();
        answer(next, zone(&[])).await;
        drop(late);
    });
    assert_eq!(client.addresses("first").await.unwrap_err(), "no answer within 5 s");
    tokio::time::resume();
    assert!(client.addresses("second").await.unwrap().is_empty());
}

#[tokio::test]
async fn without_a_server_nothing_is_said_to_be_in_order() {
    let cluster = Cluster::in_memory(&ApiServer::new());
    headless(&cluster, "peers", &["10.1.0.1"]).await;
    let Err(Failure::Input(line)) = checked(&cluster, Vec::new()).await else { panic!("there is none") };
    assert!(line.contains("kube-system/kube-dns has no ready endpoints"), "{line}");
    let closed = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap().local_addr().unwrap();
    assert!(matches!(checked(&cluster, vec![closed]).await, Err(Failure::Access(_))));
    let of_another_domain = serve(Zone::default()).await;
    let Err(Failure::Access(line)) = checked(&cluster, vec![of_another_domain]).await else {
        panic!("it knows no name")
    };
    assert!(
        line.contains("does not know kubernetes.default.svc.cluster.local; is --cluster-domain right?"),
        "{line}"
    );
}

#[test]
fn the_servers_are_the_endpoints_of_kube_dns() {
    let mut snapshot = Snapshot::new(jiff::Timestamp::UNIX_EPOCH, []);
    let slice = json!({
        "metadata": {"namespace": "kube-system", "name": "kube-dns-1", "labels": {"kubernetes.io/service-name": "kube-dns"}},
        "addressType": "IPv4",
        "endpoints": [
            {"addresses": ["10.1.0.1"], "conditions": {"ready": true}},
            {"addresses": ["10.1.0.2"], "conditions": {"ready": false}},
        ],
        "ports": [{"name": "dns", "port": 53, "protocol": "UDP"}, {"name": "dns-tcp", "port": 5353, "protocol": "TCP"}],
    });
    let slice = serde_json::from_value(slice).unwrap();
    snapshot.upsert(endpoint_diagnostics::snapshot::Object::EndpointSlice(Arc::new(slice)));
    assert_eq!(servers(&snapshot), Ok(vec![SocketAddr::from(([10, 1, 0, 1], 5353))]));
}

//! CoreDNS with a real API server: what a client that resolves a name gets.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::Path;
use std::time::Duration;

use simple_dns::rdata::RData;
use simple_dns::{CLASS, Name, Packet, Question, TYPE};
use tokio::net::UdpSocket;
use tokio::time::timeout;

use crate::process::Process;
use crate::wait::{self, LIMIT};
use crate::{binaries, ports};

/// The time after which a question is asked again.
const ANSWER: Duration = Duration::from_secs(2);

/// A running CoreDNS with its plugin `kubernetes`, for the zone `cluster.local`.
pub struct CoreDns {
    _process: Process,
    port: u16,
}

impl CoreDns {
    /// Starts it with this kubeconfig. It answers for what it has listed, so wait for the answer that you expect.
    pub fn start(folder: &Path, kubeconfig: &Path) -> Self {
        let [port] = ports::free();
        let file = folder.join("Corefile");
        let plugin = format!("kubernetes cluster.local {{\n kubeconfig {}\n }}", kubeconfig.display());
        let text = format!(".:{port} {{\n bind 127.0.0.1\n errors\n {plugin}\n}}\n");
        std::fs::write(&file, text).expect("writing the Corefile");
        let program = binaries::tool("coredns");
        let process = Process::start("coredns", &program, folder, ["-conf".into(), file.into_os_string()]);
        Self { _process: process, port }
    }

    /// The address at which it answers, over UDP and TCP.
    pub fn address(&self) -> SocketAddr {
        SocketAddr::from((Ipv4Addr::LOCALHOST, self.port))
    }

    /// Waits until a name of the cluster has exactly these addresses of both families.
    pub async fn resolves(&self, name: &str, expected: &[&str]) {
        let expected: BTreeSet<IpAddr> =
            expected.iter().map(|address| address.parse().expect("an address")).collect();
        wait::until(&format!("{name} to have the addresses {expected:?}"), LIMIT, async || {
            let found = self.addresses(name).await?;
            if found == expected { Ok(()) } else { Err(format!("{found:?}")) }
        })
        .await;
    }

    /// The addresses of both families in the answers.
    ///
    /// # Errors
    /// No answer, or one that can't be read.
    pub async fn addresses(&self, name: &str) -> Result<BTreeSet<IpAddr>, String> {
        let mut addresses = self.ask(name, TYPE::A).await?;
        addresses.extend(self.ask(name, TYPE::AAAA).await?);
        Ok(addresses)
    }

    async fn ask(&self, name: &str, of: TYPE) -> Result<BTreeSet<IpAddr>, String> {
        let mut query = Packet::new_query(1);
        let name = Name::new(name).map_err(|error| error.to_string())?;
        query.questions.push(Question::new(name, of.into(), CLASS::IN.into(), false));
        let query = query.build_bytes_vec().map_err(|error| error.to_string())?;
        let received = timeout(ANSWER, self.exchange(&query)).await.map_err(|_| "no answer".to_owned())?;
        let received = received.map_err(|error| error.to_string())?;
        let answer = Packet::parse(&received).map_err(|error| error.to_string())?;
        let address = |data: &RData<'_>| match data {
            RData::A(it) => Some(IpAddr::V4(Ipv4Addr::from_bits(it.address))),
            RData::AAAA(it) => Some(IpAddr::V6(Ipv6Addr::from_bits(it.address))),
            _ => None,
        };
        Ok(answer.answers.iter().filter_map(|record| address(&record.rdata)).collect())
    }

    async fn exchange(&self, query: &[u8]) -> std::io::Result<Vec<u8>> {
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        socket.connect((Ipv4Addr::LOCALHOST, self.port)).await?;
        socket.send(query).await?;
        let mut answer = vec![0; 4_096];
        let length = socket.recv(&mut answer).await?;
        answer.truncate(length);
        Ok(answer)
    }
}

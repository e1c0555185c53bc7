//! Questions to a DNS server over TCP (RFC 1035, 4.2.2).

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use simple_dns::rdata::RData;
use simple_dns::{CLASS, Name, Packet, Question, RCODE, TYPE};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// The longest wait for a connection, and for an answer.
const WAIT: Duration = Duration::from_secs(5);

/// A connection to a server.
pub(super) struct Client {
    stream: TcpStream,
    /// The id of the last question.
    id: u16,
}

impl Client {
    pub(super) async fn connect(server: SocketAddr) -> Result<Self, String> {
        let stream = timeout(WAIT, TcpStream::connect(server)).await.map_err(|_| late())?;
        let stream = stream.map_err(|error| error.to_string())?;
        // A failure leaves answers late, and nothing else.
        let _ = stream.set_nodelay(true);
        Ok(Self { stream, id: 0 })
    }

    /// The addresses of a name, of both families; none for a name that does not exist.
    pub(super) async fn addresses(&mut self, name: &str) -> Result<BTreeSet<IpAddr>, String> {
        let mut addresses = self.ask(name, TYPE::A).await?;
        addresses.extend(self.ask(name, TYPE::AAAA).await?);
        Ok(addresses)
    }

    async fn ask(&mut self, name: &str, of: TYPE) -> Result<BTreeSet<IpAddr>, String> {
        self.id = self.id.wrapping_add(1);
        let mut query = Packet::new_query(self.id);
        let name = Name::new(name).map_err(|error| error.to_string())?;
        query.questions.push(Question::new(name, of.into(), CLASS::IN.into(), false));
        let query = query.build_bytes_vec().map_err(|error| error.to_string())?;
        let received = timeout(WAIT, self.exchange(&query)).await.map_err(|_| late())?;
        let received = received.map_err(|error| error.to_string())?;
        let answer = Packet::parse(&received).map_err(|error| format!("no DNS message: {error}"))?;
        if answer.id() != self.id {
            return Err("the answer is to another question".to_owned());
        }
        match answer.rcode() {
            RCODE::NoError | RCODE::NameError => {}
            other => return Err(format!("{other:?}")),
        }
        let address = |data: &RData<'_>| match data {
            RData::A(it) => Some(IpAddr::V4(Ipv4Addr::from_bits(it.address))),
            RData::AAAA(it) => Some(IpAddr::V6(Ipv6Addr::from_bits(it.address))),
            _ => None,
        };
        Ok(answer.answers.iter().filter_map(|record| address(&record.rdata)).collect())
    }

    async fn exchange(&mut self, query: &[u8]) -> std::io::Result<Vec<u8>> {
        let length = u16::try_from(query.len()).map_err(std::io::Error::other)?;
        let message = [&length.to_be_bytes()[..], query].concat();
        self.stream.write_all(&message).await?;
        let length = self.stream.read_u16().await?;
        let mut answer = vec![0; usize::from(length)];
        self.stream.read_exact(&mut answer).await?;
        Ok(answer)
    }
}

fn late() -> String {
    format!("no answer within {} s", WAIT.as_secs())
}

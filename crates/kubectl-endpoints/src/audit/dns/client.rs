//! Questions to a DNS server over TCP (RFC 1035, 4.2.2).

use std::collections::BTreeSet;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use endpoint_diagnostics::audit::{Expected, Wrong};
use simple_dns::rdata::RData;
use simple_dns::{CLASS, Name, Packet, PacketFlag, Question, RCODE, TYPE};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// The longest wait for a connection, and for an answer.
const WAIT: Duration = Duration::from_secs(5);

/// A connection to a server, which may close it after some questions (dnsmasq: 100).
pub(super) struct Client {
    server: SocketAddr,
    /// None after a failure: a late answer would be taken for the next one.
    stream: Option<TcpStream>,
    /// The id of the last question.
    id: u16,
}

/// The addresses of a name, of both families; none of a name that does not exist.
#[derive(Debug, Default)]
pub(super) struct Answer {
    addresses: BTreeSet<IpAddr>,
    /// There are more than fit in 64 kB.
    is_truncated: bool,
}

impl Answer {
    pub(super) fn is_empty(&self) -> bool {
        self.addresses.is_empty()
    }

    /// The addresses that the answer has wrong.
    pub(super) fn wrong(&self, expected: &BTreeSet<IpAddr>) -> Option<Wrong<IpAddr>> {
        Wrong::new(&self.addresses, &self.comparable(expected))
    }

    /// The addresses that this answer has wrong, and those before it had.
    pub(super) fn still_wrong(
        &self,
        before: Wrong<IpAddr>,
        expected: &BTreeSet<IpAddr>,
    ) -> Option<Wrong<IpAddr>> {
        before.and(&self.addresses, &self.comparable(expected))
    }

    /// Nothing is missing in an answer that was cut off.
    fn comparable(&self, expected: &BTreeSet<IpAddr>) -> Expected<IpAddr> {
        let mut all = Expected::exactly(expected.clone());
        if self.is_truncated {
            all.required.clear();
        }
        all
    }
}

impl Client {
    pub(super) async fn connect(server: SocketAddr) -> Result<Self, String> {
        let stream = connect(server).await.map_err(|error| error.to_string())?;
        Ok(Self { server, stream: Some(stream), id: 0 })
    }

    pub(super) async fn addresses(&mut self, name: &str) -> Result<Answer, String> {
        let mut answer = Answer::default();
        for of in [TYPE::A, TYPE::AAAA] {
            self.ask(name, of, &mut answer).await?;
        }
        Ok(answer)
    }

    async fn ask(&mut self, name: &str, of: TYPE, answer: &mut Answer) -> Result<(), String> {
        self.id = self.id.wrapping_add(1);
        let mut query = Packet::new_query(self.id);
        let name = Name::new(name).map_err(|error| error.to_string())?;
        query.questions.push(Question::new(name, of.into(), CLASS::IN.into(), false));
        let query = query.build_bytes_vec().map_err(|error| error.to_string())?;
        let received = self.exchange(&query).await.map_err(|error| error.to_string())?;
        let reply = Packet::parse(&received).map_err(|error| format!("no DNS message: {error}"))?;
        if reply.id() != self.id || !reply.has_flags(PacketFlag::RESPONSE) {
            return Err("the answer is to another question".to_owned());
        }
        match reply.rcode() {
            RCODE::NoError | RCODE::NameError => {}
            other => return Err(format!("{other:?}")),
        }
        answer.is_truncated |= reply.has_flags(PacketFlag::TRUNCATION);
        let address = |data: &RData<'_>| match data {
            RData::A(it) => Some(IpAddr::V4(Ipv4Addr::from_bits(it.address))),
            RData::AAAA(it) => Some(IpAddr::V6(Ipv6Addr::from_bits(it.address))),
            _ => None,
        };
        answer.addresses.extend(reply.answers.iter().filter_map(|record| address(&record.rdata)));
        Ok(())
    }

    /// Sends a question and receives the answer; once more over another connection if this one was closed.
    async fn exchange(&mut self, query: &[u8]) -> io::Result<Vec<u8>> {
        let mut stream = match self.stream.take() {
            Some(stream) => stream,
            None => connect(self.server).await?,
        };
        let answer = match within(exchange(&mut stream, query)).await {
            Err(error) if error.kind() != io::ErrorKind::TimedOut => {
                stream = connect(self.server).await?;
                within(exchange(&mut stream, query)).await?
            }
            answer => answer?,
        };
        self.stream = Some(stream);
        Ok(answer)
    }
}

async fn connect(server: SocketAddr) -> io::Result<TcpStream> {
    let stream = within(TcpStream::connect(server)).await?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

async fn exchange(stream: &mut TcpStream, query: &[u8]) -> io::Result<Vec<u8>> {
    let length = u16::try_from(query.len()).map_err(io::Error::other)?;
    let message = [&length.to_be_bytes()[..], query].concat();
    stream.write_all(&message).await?;
    let length = stream.read_u16().await?;
    let mut answer = vec![0; usize::from(length)];
    stream.read_exact(&mut answer).await?;
    Ok(answer)
}

async fn within<T>(work: impl Future<Output = io::Result<T>>) -> io::Result<T> {
    let late = || io::Error::new(io::ErrorKind::TimedOut, format!("no answer within {} s", WAIT.as_secs()));
    timeout(WAIT, work).await.unwrap_or_else(|_| Err(late()))
}

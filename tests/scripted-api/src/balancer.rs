//! A TCP proxy with faults on demand: a load balancer between a program and the API server.
//!
//! | Fault | As in |
//! |---|---|
//! | [`Proxy::close_idle_after`] | a load balancer's idle timeout: both sides get a FIN |
//! | [`Proxy::cut`] | a restarting balancer, or one that has lost its table of connections |
//! | [`Proxy::stall`] | a path without capacity: nothing passes for a while, then everything |
//! | [`Proxy::slow`] | a link between data centers: a delay, and a number of bytes a second |
//! | [`Proxy::blackhole`] | a dead machine behind a balancer: the balancer's kernel acknowledges what is sent, and there is no answer |
//!
//! It runs on the test's own runtime, and forwards bytes as they come; TLS is between the two sides.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, sleep_until};

/// The treatment of connections that are made after a [blackhole](Proxy::blackhole) began.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NewConnections {
    /// They reach the server, as if the balancer had chosen another machine.
    Forwarded,
    /// They are accepted, and lead nowhere either.
    Swallowed,
}

/// The way in which a connection ends for both sides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// By a FIN.
    Closed,
    /// By a RST; what was on its way is lost.
    Reset,
}

/// A running proxy; dropping it closes all its connections.
#[derive(Debug)]
pub struct Proxy {
    address: SocketAddr,
    faults: watch::Sender<Faults>,
    record: Arc<Record>,
    _tasks: JoinSet<()>,
}

#[derive(Debug, Clone, Copy)]
struct Faults {
    idle: Option<Duration>,
    /// Connections of earlier eras are dead.
    era: u64,
    swallow_new: bool,
    /// The number of cuts so far, and the last one.
    cuts: u64,
    ending: Ending,
    /// No bytes pass.
    stalled: bool,
    link: Option<Link>,
}

/// A slow link, for each connection.
#[derive(Debug, Clone, Copy)]
struct Link {
    /// The delay of what clients send, which stands for that of both ways.
    delay: Duration,
    bytes_per_second: u32,
}

impl Faults {
    const NONE: Self = Self {
        idle: None,
        era: 0,
        swallow_new: false,
        cuts: 0,
        ending: Ending::Closed,
        stalled: false,
        link: None,
    };
}

#[derive(Debug, Default)]
struct Record {
    connections: AtomicUsize,
    cut: AtomicUsize,
    /// Bytes from the server to clients.
    received: AtomicU64,
}

impl Proxy {
    /// Forwards every connection to `server`.
    pub async fn start(server: SocketAddr) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("a port");
        let address = listener.local_addr().expect("the address of a listener");
        let faults = watch::Sender::new(Faults::NONE);
        let record = Arc::new(Record::default());
        let mut tasks = JoinSet::new();
        tasks.spawn(serve(listener, server, faults.clone(), Arc::clone(&record)));
        Self { address, faults, record, _tasks: tasks }
    }

    /// The address on which the proxy listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// From now on, closes connections that have been idle for this time.
    pub fn close_idle_after(&self, idle: Duration) {
        self.faults.send_modify(|faults| faults.idle = Some(idle));
    }

    /// From now on, connections may be idle.
    pub fn keep_idle(&self) {
        self.faults.send_modify(|faults| faults.idle = None);
    }

    /// Ends all connections, except those that lead nowhere.
    pub fn cut(&self, ending: Ending) {
        self.faults.send_modify(|faults| {
            faults.cuts += 1;
            faults.ending = ending;
        });
    }

    /// From now on, no bytes pass, or they do again.
    pub fn stall(&self, stalled: bool) {
        self.faults.send_modify(|faults| faults.stalled = stalled);
    }

    /// Delays each round trip by this time, and limits the bytes a second that a client receives on each connection.
    pub fn slow(&self, delay: Duration, bytes_per_second: u32) {
        self.faults.send_modify(|faults| faults.link = Some(Link { delay, bytes_per_second }));
    }

    /// From now on, no bytes pass on existing connections, which stay open.
    pub fn blackhole(&self, new: NewConnections) {
        self.faults.send_modify(|faults| {
            faults.era += 1;
            faults.swallow_new = new == NewConnections::Swallowed;
        });
    }

    /// From now on, new connections reach the server. Dead ones stay dead.
    pub fn forward_new_connections(&self) {
        self.faults.send_modify(|faults| {
            // Connections that were swallowed meanwhile are dead as well.
            faults.era += u64::from(faults.swallow_new);
            faults.swallow_new = false;
        });
    }

    /// The number of connections accepted so far.
    pub fn connections(&self) -> usize {
        self.record.connections.load(Ordering::Relaxed)
    }

    /// The number of connections closed so far for being idle.
    pub fn idle_connections_closed(&self) -> usize {
        self.record.cut.load(Ordering::Relaxed)
    }

    /// The bytes that clients have received so far, as they are on the network: encrypted, with the overhead of TLS.
    pub fn received(&self) -> u64 {
        self.record.received.load(Ordering::Relaxed)
    }
}

async fn serve(
    listener: TcpListener,
    server: SocketAddr,
    faults: watch::Sender<Faults>,
    record: Arc<Record>,
) {
    let mut connections = JoinSet::new();
    while let Ok((client, _)) = listener.accept().await {
        let (born, faults, record) = (*faults.borrow(), faults.subscribe(), Arc::clone(&record));
        record.connections.fetch_add(1, Ordering::Relaxed);
        connections.spawn(async move {
            // An error is the end of a connection, which both sides observe.
            let _ = connection(client, server, born, faults, &record).await;
        });
        while connections.try_join_next().is_some() {}
    }
}

async fn connection(
    client: TcpStream,
    server: SocketAddr,
    born: Faults,
    faults: watch::Receiver<Faults>,
    record: &Record,
) -> io::Result<()> {
    client.set_nodelay(true)?;
    if born.swallow_new {
        return std::future::pending().await;
    }
    let server = TcpStream::connect(server).await?;
    server.set_nodelay(true)?;
    relay(client, server, faults, born, record).await
}

/// Runs until one side closes its connection, which closes the other's.
async fn relay(
    mut client: TcpStream,
    mut server: TcpStream,
    mut faults: watch::Receiver<Faults>,
    born: Faults,
    record: &Record,
) -> io::Result<()> {
    let (mut up, mut down) = (vec![0; 16 * 1024], vec![0; 16 * 1024]);
    let mut last = Instant::now();
    // The time at which a slow link has passed on what it was given.
    let mut free = last;
    loop {
        let Faults { idle, era, cuts, ending, stalled, link, .. } = *faults.borrow_and_update();
        if born.era < era {
            // Both sockets stay open, so that the kernel acknowledges the bytes sent.
            return std::future::pending().await;
        }
        if born.cuts < cuts {
            if ending == Ending::Reset {
                client.set_zero_linger()?;
                server.set_zero_linger()?;
            }
            return Ok(());
        }
        if stalled {
            faults.changed().await.map_err(io::Error::other)?;
            last = Instant::now();
            continue;
        }
        let idle = async {
            match idle {
                Some(idle) => sleep_until(last + idle).await,
                None => std::future::pending().await,
            }
        };
        let step = async {
            tokio::select! {
                read = client.read(&mut up) => read.map(Step::Up),
                read = server.read(&mut down) => read.map(Step::Down),
                () = idle => Ok(Step::Idle),
            }
        };
        let step = tokio::select! {
            // In this order: what is sent after a fault began does not pass.
            biased;
            changed = faults.changed() => {
                changed.map_err(io::Error::other)?;
                continue;
            }
            step = step => step?,
        };
        match step {
            Step::Up(0) | Step::Down(0) => return Ok(()),
            Step::Up(count) => {
                sleep(link.map(|link| link.delay).unwrap_or_default()).await;
                server.write_all(&up[..count]).await?;
            }
            Step::Down(count) => {
                if let Some(Link { bytes_per_second, .. }) = link {
                    let bytes = u32::try_from(count).unwrap_or(u32::MAX);
                    free = free.max(Instant::now()) + Duration::from_secs(1) * bytes / bytes_per_second;
                    sleep_until(free).await;
                }
                client.write_all(&down[..count]).await?;
                record.received.fetch_add(u64::try_from(count).unwrap_or(u64::MAX), Ordering::Relaxed);
            }
            Step::Idle => {
                record.cut.fetch_add(1, Ordering::Relaxed);
                return Ok(());
            }
        }
        last = Instant::now();
    }
}

/// An event on a connection.
enum Step {
    /// Bytes from the client; none at its end.
    Up(usize),
    /// Bytes from the server; none at its end.
    Down(usize),
    /// Nothing has passed for too long.
    Idle,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LIMIT;

    /// A server that sends back every byte.
    async fn echo() -> (SocketAddr, JoinSet<()>) {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let mut tasks = JoinSet::new();
        tasks.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((mut stream, _)) = listener.accept().await {
                connections.spawn(async move {
                    let (mut read, mut write) = stream.split();
                    let _ = tokio::io::copy(&mut read, &mut write).await;
                });
            }
        });
        (address, tasks)
    }

    async fn connect(proxy: &Proxy) -> TcpStream {
        TcpStream::connect(proxy.address()).await.unwrap()
    }

    async fn send(stream: &mut TcpStream) {
        stream.write_all(b"x").await.unwrap();
    }

    async fn answers(stream: &mut TcpStream) {
        send(stream).await;
        assert_eq!(tokio::time::timeout(LIMIT, stream.read_u8()).await.unwrap().unwrap(), b'x');
    }

    /// True if nothing has been received so far. Called after the answer to bytes that were sent later.
    fn is_silent(stream: &TcpStream) -> bool {
        matches!(stream.try_read(&mut [0]), Err(error) if error.kind() == io::ErrorKind::WouldBlock)
    }

    #[tokio::test]
    async fn a_blackhole_keeps_old_connections_open_and_silent() {
        let (server, _tasks) = echo().await;
        let proxy = Proxy::start(server).await;
        let mut old = connect(&proxy).await;
        answers(&mut old).await;
        proxy.blackhole(NewConnections::Swallowed);
        send(&mut old).await;
        let mut swallowed = connect(&proxy).await;
        send(&mut swallowed).await;
        while proxy.connections() < 2 {
            sleep(Duration::from_millis(5)).await;
        }
        proxy.forward_new_connections();
        answers(&mut connect(&proxy).await).await;
        assert!(is_silent(&old) && is_silent(&swallowed));
    }

    #[tokio::test]
    async fn a_stall_delays_bytes_and_a_cut_ends_connections() {
        let (server, _tasks) = echo().await;
        let proxy = Proxy::start(server).await;
        let mut stream = connect(&proxy).await;
        answers(&mut stream).await;
        proxy.stall(true);
        send(&mut stream).await;
        tokio::time::sleep(Duration::from_millis(50)).await;
        assert!(is_silent(&stream));
        proxy.stall(false);
        assert_eq!(tokio::time::timeout(LIMIT, stream.read_u8()).await.unwrap().unwrap(), b'x');
        proxy.cut(Ending::Closed);
        assert_eq!(tokio::time::timeout(LIMIT, stream.read(&mut [0])).await.unwrap().unwrap(), 0);
        let mut stream = connect(&proxy).await;
        answers(&mut stream).await;
        proxy.cut(Ending::Reset);
        let error = tokio::time::timeout(LIMIT, stream.read(&mut [0])).await.unwrap().unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::ConnectionReset);
    }

    #[tokio::test]
    async fn an_idle_connection_is_closed() {
        let (server, _tasks) = echo().await;
        let proxy = Proxy::start(server).await;
        let mut idle = connect(&proxy).await;
        answers(&mut idle).await;
        proxy.close_idle_after(Duration::from_millis(100));
        assert_eq!(tokio::time::timeout(LIMIT, idle.read(&mut [0])).await.unwrap().unwrap(), 0);
        assert_eq!(proxy.idle_connections_closed(), 1);
    }
}

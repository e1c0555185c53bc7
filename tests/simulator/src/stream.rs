//! Bodies of answers: whole, or a watch whose events come late, break off or stay away.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use embedded_apiserver::Body as ServerBody;
use http_body::{Body, Frame};
use http_body_util::BodyExt as _;
use tokio::sync::mpsc;
use tokio::time::{Instant, Sleep, sleep_until};
use tower::BoxError;

use crate::fault::Fault;
use crate::host::Host;
use crate::last_activity::LastActivity;
use crate::world::{IdleTimeout, World};

/// The time after which a client's HTTP/2 ping shows that its peer is dead.
const PING: Duration = Duration::from_secs(25);

/// The body of an answer.
pub struct SimulatedBody(Content);

enum Content {
    Whole(Option<Bytes>),
    Watch(Box<Watch>),
}

struct Watch {
    pieces: mpsc::UnboundedReceiver<Piece>,
    arrived: VecDeque<(Instant, Bytes)>,
    end: Option<End>,
    sleep: Pin<Box<Sleep>>,
}

enum Piece {
    /// To be seen at this time.
    Data(Instant, Bytes),
    End(End),
}

#[derive(Clone, Copy)]
enum End {
    /// After what was sent.
    Clean,
    /// At once.
    Broken(&'static str),
}

/// The fate of a watch.
#[derive(Debug, Clone, Copy, Default)]
pub struct WatchFate {
    /// The delay of this watch beyond others, all the time.
    pub delay: Duration,
    pub end: Option<(Fault, Instant)>,
    /// Breaks after this many frames.
    pub frames: Option<usize>,
    pub duplicates_bookmarks: bool,
}

impl SimulatedBody {
    /// A body that is there at once.
    pub fn whole(bytes: Bytes) -> Self {
        Self(Content::Whole(Some(bytes)))
    }

    /// The body of a watch of a kind, through a front.
    pub fn watch(
        world: &Arc<World>,
        host: &Arc<Host>,
        activity: &LastActivity,
        [front, kind]: [usize; 2],
        body: ServerBody,
        fate: WatchFate,
    ) -> Self {
        let (sender, pieces) = mpsc::unbounded_channel();
        let (world, host, activity) = (Arc::clone(world), Arc::clone(host), activity.clone());
        let pump = Pump { world, host, activity, front, kind, sender, fate };
        tokio::spawn(pump.run(body));
        let sleep = Box::pin(sleep_until(Instant::now()));
        Self(Content::Watch(Box::new(Watch { pieces, arrived: VecDeque::new(), end: None, sleep })))
    }
}

/// Moves the frames of a watch from the API server to its client.
struct Pump {
    world: Arc<World>,
    host: Arc<Host>,
    activity: LastActivity,
    front: usize,
    kind: usize,
    sender: mpsc::UnboundedSender<Piece>,
    fate: WatchFate,
}

impl Pump {
    async fn run(self, body: ServerBody) {
        let watching = self.host.watching();
        let end = self.move_frames(body).await;
        drop(watching);
        let end = match end {
            Ok(end) => end,
            Err(fault) => self.end_with(fault).await,
        };
        // The client may be gone.
        let _ = self.sender.send(Piece::End(end));
    }

    /// Returns the end, or the fault by which it ends.
    async fn move_frames(&self, mut body: ServerBody) -> Result<End, Fault> {
        let mut epoch = self.world.with(|state| state.fronts[self.front].epoch.subscribe());
        let (mut due, mut frames) = (Instant::now(), 0);
        let mut end_at = Box::pin(at(self.fate.end.map(|(_, time)| time)));
        let mut idle = Box::pin(self.idled_out());
        loop {
            tokio::select! {
                biased;
                () = self.sender.closed() => return Ok(End::Clean),
                () = self.host.died() => return Ok(End::Clean),
                _ = epoch.changed() => {
                    return Ok(End::Broken("the API server closed the connection"));
                }
                () = &mut end_at => {
                    let Some((fault, _)) = self.fate.end else { return Ok(End::Clean) };
                    self.world.count(fault);
                    self.world.log(|| format!("r{} {fault}: {}", self.host.replica, crate::action::KINDS[self.kind]));
                    return Err(fault);
                }
                silent = &mut idle => {
                    self.world.log(|| format!("r{} was idle: {}", self.host.replica, crate::action::KINDS[self.kind]));
                    if silent {
                        return Err(Fault::WatchDead);
                    }
                    return Ok(End::Broken("the balancer closed an idle connection"));
                }
                frame = body.frame() => {
                    self.activity.note();
                    let Some(Ok(frame)) = frame else { return Ok(End::Clean) };
                    let Ok(data) = frame.into_data() else { continue };
                    due = self.world.with(|state| {
                        let lag = state.fronts[self.front].lag[self.kind];
                        let due = due.max(Instant::now() + lag + self.fate.delay);
                        if !lag.is_zero() {
                            state.late_until = state.late_until.max(due);
                        }
                        due
                    });
                    if self.fate.duplicates_bookmarks && is_bookmark(&data) {
                        self.world.count(Fault::DuplicateBookmark);
                        let _ = self.sender.send(Piece::Data(due, data.clone()));
                    }
                    let _ = self.sender.send(Piece::Data(due, data));
                    frames += 1;
                    if self.fate.frames.is_some_and(|most| frames >= most) {
                        self.world.count(Fault::PartialList);
                        return Ok(End::Broken("the connection broke in a list"));
                    }
                }
            }
        }
    }

    /// Waits until the balancer drops the connection; true if without a reset.
    async fn idled_out(&self) -> bool {
        let mut policy = self.world.idle_timeout.subscribe();
        loop {
            let Some(IdleTimeout { after, silent }) = *policy.borrow_and_update() else {
                // The history ends before its cluster.
                let _ = policy.changed().await;
                continue;
            };
            let Some(left) = after.checked_sub(self.activity.idle()).filter(|left| !left.is_zero()) else {
                return silent;
            };
            tokio::select! {
                biased;
                _ = policy.changed() => {}
                () = tokio::time::sleep(left) => {}
            }
        }
    }

    async fn end_with(&self, fault: Fault) -> End {
        match fault {
            Fault::WatchEnded => End::Clean,
            Fault::WatchDead => {
                tokio::select! {
                    () = self.sender.closed() => {}
                    () = tokio::time::sleep(PING) => {}
                }
                End::Broken("keep-alive timed out")
            }
            Fault::WatchSilent => {
                self.sender.closed().await;
                End::Clean
            }
            _ => End::Broken("connection reset by peer"),
        }
    }
}

/// True for a frame with one bookmark, in protobuf or JSON.
fn is_bookmark(frame: &[u8]) -> bool {
    frame.len() < 400 && frame.windows(8).any(|word| word == b"BOOKMARK")
}

async fn at(time: Option<Instant>) {
    match time {
        Some(time) => sleep_until(time).await,
        None => std::future::pending().await,
    }
}

impl Body for SimulatedBody {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        match &mut self.0 {
            Content::Whole(bytes) => Poll::Ready(
                bytes.take().filter(|bytes| !bytes.is_empty()).map(|bytes| Ok(Frame::data(bytes))),
            ),
            Content::Watch(watch) => watch.poll_frame(context),
        }
    }
}

impl Watch {
    fn poll_frame(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        while self.end.is_none() {
            match self.pieces.poll_recv(context) {
                Poll::Ready(Some(Piece::Data(due, data))) => self.arrived.push_back((due, data)),
                Poll::Ready(Some(Piece::End(end))) => self.end = Some(end),
                Poll::Ready(None) => self.end = Some(End::Clean),
                Poll::Pending => break,
            }
        }
        if let Some(End::Broken(why)) = self.end {
            // What was on its way is lost.
            self.arrived.clear();
            self.end = Some(End::Clean);
            return Poll::Ready(Some(Err(why.into())));
        }
        let Some((due, _)) = self.arrived.front() else {
            return if self.end.is_some() { Poll::Ready(None) } else { Poll::Pending };
        };
        if *due > Instant::now() {
            let due = *due;
            self.sleep.as_mut().reset(due);
            ready!(self.sleep.as_mut().poll(context));
        }
        Poll::Ready(self.arrived.pop_front().map(|(_, data)| Ok(Frame::data(data))))
    }
}

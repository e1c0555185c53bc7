//! The fate of each request and watch.

use std::time::Duration;

use http::request::Parts;
use http::{Method, Response, StatusCode};
use random_operations::rng::Rng;
use serde_json::json;
use tokio::time::Instant;

use crate::action::KINDS;
use crate::decode::resource;
use crate::denied_slices;
use crate::fault::{Accident, Fault};
use crate::stream::{SimulatedBody, WatchFate};
use crate::world::World;

/// The fate of one request.
#[derive(Debug, Clone, Copy)]
pub struct Fate {
    pub front: usize,
    pub before: Duration,
    pub after: Duration,
    pub fault: Option<Fault>,
    pub accident: Option<Accident>,
    retry_after: u32,
}

impl Fate {
    /// Decides about a request of a replica.
    pub fn draw(world: &World, replica: usize, head: &Parts) -> Self {
        let (longest, muted, pin) = (world.plan.setup.latency_milliseconds, world.plan.muted, world.plan.pin);
        let resource = resource(head.uri.path());
        world.with(|state| {
            let mut rng = state.dice.roll(format!("r{replica} {} {resource}", head.method));
            let (mut before, after) = (latency(&mut rng, longest), latency(&mut rng, longest));
            let front = rng.below(state.fronts.len());
            let retry_after = u32::try_from(rng.below(3)).unwrap_or_default();
            let dice = u32::try_from(rng.below(10_000)).unwrap_or_default();
            let fault = request_fault(&state.rates, dice)
                .filter(|fault| *fault != Fault::Conflict || head.method == Method::PUT)
                .filter(|fault| Some(*fault) != muted);
            if let Some(fault) = fault {
                state.counts.add(fault);
            }
            if fault == Some(Fault::Slow) {
                before += 200 + 40 * u64::from(dice % 500);
            }
            let mut accident = None;
            if resource != "events" {
                accident = pin.filter(|pin| pin.request == state.requests).map(|pin| pin.accident);
                state.requests += 1;
            }
            if let Some(accident) = accident {
                state.counts.add(accident.fault());
            }
            let [before, after] = [before, after].map(Duration::from_millis);
            Self { front, before, after, fault, accident, retry_after }
        })
    }
}

/// The milliseconds of one way without a fault.
fn latency(rng: &mut Rng, longest: u64) -> u64 {
    let most = usize::try_from(longest).unwrap_or_default();
    if most == 0 { 0 } else { u64::try_from(rng.below(most)).unwrap_or_default() }
}

/// The fault that a number below 10,000 stands for.
fn request_fault(rates: &[(Fault, u32)], dice: u32) -> Option<Fault> {
    let mut left = dice;
    for (candidate, rate) in rates.iter().filter(|(fault, _)| Fault::OF_REQUESTS.contains(fault)) {
        if left < *rate {
            return Some(*candidate);
        }
        left -= rate;
    }
    None
}

/// The answer of an API server that does nothing.
pub fn refused(world: &World, head: &Parts, fate: Fate) -> Option<Response<SimulatedBody>> {
    let now = Instant::now();
    let is_write = head.method != Method::GET && !head.uri.path().contains("/leases");
    let resource = resource(head.uri.path());
    let is_create = head.method == Method::POST && ["endpointslices", "endpoints"].contains(&resource);
    let [forbidden, unauthorized, quota] = world.with(|state| {
        [state.forbidden > now && is_write, state.unauthorized > now, state.quota > now && is_create]
    });
    let name = head.uri.path().rsplit('/').next().unwrap_or_default();
    let is_change = resource == "endpointslices" && matches!(head.method, Method::PUT | Method::DELETE);
    let is_refused = is_change
        && world.with(|state| {
            state
                .refuses_slices
                .is_some_and(|(choice, until)| until > now && denied_slices::is_denied(name, choice))
        });
    let full = || format!("exceeded quota: objects, requested: count/{resource}=1, used: 9, limited: 9");
    let seconds = (fate.retry_after > 0).then_some(fate.retry_after);
    Some(match fate.fault {
        _ if unauthorized => refusal(StatusCode::UNAUTHORIZED, "Unauthorized", None),
        _ if forbidden => refusal(StatusCode::FORBIDDEN, "Forbidden", None),
        _ if quota => answer(StatusCode::FORBIDDEN, "Forbidden", None, &full()),
        _ if is_refused => {
            answer(StatusCode::FORBIDDEN, "Forbidden", None, "admission webhook denied the request")
        }
        Some(Fault::Conflict) => refusal(StatusCode::CONFLICT, "Conflict", None),
        Some(Fault::TooManyRequests) => refusal(StatusCode::TOO_MANY_REQUESTS, "TooManyRequests", seconds),
        Some(Fault::InternalError) => refusal(StatusCode::INTERNAL_SERVER_ERROR, "InternalError", None),
        Some(Fault::Unavailable) => refusal(StatusCode::SERVICE_UNAVAILABLE, "ServiceUnavailable", seconds),
        Some(Fault::TimeoutBefore) => refusal(StatusCode::GATEWAY_TIMEOUT, "Timeout", None),
        Some(Fault::Forbidden) if is_write => refusal(StatusCode::FORBIDDEN, "Forbidden", None),
        _ => return None,
    })
}

/// An answer with a Status.
pub fn refusal(code: StatusCode, reason: &str, retry_after: Option<u32>) -> Response<SimulatedBody> {
    answer(code, reason, retry_after, "a fault")
}

fn answer(
    code: StatusCode,
    reason: &str,
    retry_after: Option<u32>,
    message: &str,
) -> Response<SimulatedBody> {
    let status = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code.as_u16(),
        "reason": reason, "message": message});
    let mut answer = Response::builder().status(code).header(http::header::CONTENT_TYPE, "application/json");
    if let Some(seconds) = retry_after {
        answer = answer.header(http::header::RETRY_AFTER, seconds);
    }
    answer.body(SimulatedBody::whole(status.to_string().into())).expect("a valid answer")
}

/// The fate of a watch of a kind that begins now.
pub fn watch_fate(world: &World, replica: usize, kind: usize, is_list: bool) -> WatchFate {
    let mut fate = WatchFate::default();
    world.with(|state| {
        let mut rng = state.dice.roll(format!("r{replica} watch {}", KINDS[kind]));
        fate.delay = Duration::from_millis(latency(&mut rng, world.plan.setup.latency_milliseconds));
        for (fault, rate) in &state.rates {
            if !Fault::OF_WATCHES.contains(fault) {
                continue;
            }
            let happens = u32::try_from(rng.below(10_000)).unwrap_or_default() < *rate;
            let frames = 1 + rng.below(3);
            let longest = *rng.pick(&[500, 5_000, 40_000]);
            let after = Duration::from_millis(u64::try_from(rng.below(longest)).unwrap_or_default());
            if !happens || world.plan.muted == Some(*fault) {
                continue;
            }
            match fault {
                Fault::PartialList if is_list => fate.frames = Some(frames),
                Fault::PartialList => {}
                Fault::DuplicateBookmark => fate.duplicates_bookmarks = true,
                fault => fate.end = Some((*fault, Instant::now() + after)),
            }
        }
    });
    fate
}

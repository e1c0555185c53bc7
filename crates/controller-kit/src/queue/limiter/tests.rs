//! The delays of keys, and the shared bucket.

use super::super::key::KEPT_CAPACITY;
use super::*;

const MS: Duration = Duration::from_millis(1);

fn one_second() -> RateLimit {
    RateLimit { base_delay: Duration::from_secs(1), ..RateLimit::default() }
}

fn failure(fingerprint: u64) -> Cause {
    Cause::Failure { fingerprint, reason: FailureReason::Refused, pause: Duration::ZERO }
}

/// The own delays of key 0 in milliseconds for `n` consecutive failures with these causes.
fn delays_of(limiter: &mut Limiter<u8>, causes: &[Cause], n: usize) -> Vec<u128> {
    (0..n).map(|_| limiter.fail(&0, causes).unwrap().as_millis()).collect()
}

fn delays(limiter: &mut Limiter<u8>, n: usize) -> Vec<u128> {
    delays_of(limiter, &[Cause::FAILURE], n)
}

fn without_bucket() -> Limiter<u8> {
    Limiter::new(RateLimit { bucket: None, ..one_second() })
}

#[test]
fn delays_of_a_key_double_up_to_the_cap_and_stay_there() {
    let mut limiter = without_bucket();
    let seconds: Vec<_> = delays(&mut limiter, 12).into_iter().map(|ms| ms / 1000).collect();
    assert_eq!(seconds, [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1000, 1000]);

    limiter.failing.get_mut(&0).unwrap().failures = vec![(0, u32::MAX - 1)];
    assert_eq!(delays(&mut limiter, 3), [1_000_000; 3], "the count saturates");
    assert_eq!(limiter.failures(&0), u32::MAX);

    limiter.forget(&0);
    assert_eq!(limiter.failures(&0), 0);
    assert_eq!(delays(&mut limiter, 1), [1000]);
}

fn unavailable(pause: Duration) -> Cause {
    Cause::Failure { fingerprint: 4, reason: FailureReason::Unavailable, pause }
}

/// The cause of a request that is refused like this.
fn refusal(code: u16, retry_after: Option<Duration>) -> Cause {
    let status = kube_api::Status { code, retry_after, ..kube_api::Status::default() };
    Cause::of_request(4, &kube_api::ApiError::Refused(Box::new(status)))
}

#[test]
fn refused_credentials_say_nothing_about_a_key() {
    let causes = [401, 503, 422].map(|code| refusal(code, None));
    assert_eq!(causes, [unavailable(Duration::ZERO), unavailable(Duration::ZERO), failure(4)]);
}

/// The API server asks for up to 32 s (`k8s.io/apiserver` `pkg/util/flowcontrol/dropped_requests_tracker.go`), and for more the
/// more of the requests that it refuses come back before.
#[test]
fn a_key_is_not_retried_before_the_time_that_the_server_asks_for() {
    let busy = refusal(429, Some(32_000 * MS));
    assert_eq!(busy, unavailable(32_000 * MS));
    let mut limiter = without_bucket();
    let delays = delays_of(&mut limiter, &[busy], 7);
    assert_eq!(delays, [32_000, 32_000, 32_000, 32_000, 32_000, 32_000, 60_000]);
    limiter.forget(&0);
    assert_eq!(
        delays_of(&mut limiter, &[unavailable(3_600_000 * MS)], 1),
        [60_000],
        "no longer than the cap"
    );
}

#[test]
fn an_unavailable_server_is_retried_every_minute() {
    let mut limiter = without_bucket();
    let unavailable = [unavailable(Duration::ZERO)];
    let seconds: Vec<_> = delays_of(&mut limiter, &unavailable, 8).into_iter().map(|ms| ms / 1000).collect();
    assert_eq!(seconds, [1, 2, 4, 8, 16, 32, 60, 60]);
    let limit = RateLimit { bucket: None, max_delay: 10_000 * MS, ..one_second() };
    assert_eq!(delays_of(&mut Limiter::new(limit), &unavailable, 5)[4], 10_000, "never more than the cap");
}

#[test]
fn the_cap_is_a_parameter_and_also_caps_the_base() {
    let mut limiter = Limiter::new(RateLimit { max_delay: 60_000 * MS, ..one_second() });
    assert_eq!(delays(&mut limiter, 8), [1000, 2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000]);
    let mut limiter = Limiter::new(RateLimit { max_delay: 200 * MS, ..one_second() });
    assert_eq!(delays(&mut limiter, 2), [200, 200]);
    let mut limiter = Limiter::new(RateLimit::default());
    assert_eq!(delays(&mut limiter, 4), [5, 10, 20, 40]);
}

/// The cap holds for keys behind 30,000 others as well, and for the next key after these.
#[test]
fn nothing_waits_for_the_bucket_longer_than_the_cap() {
    let limit = RateLimit { max_delay: 100_000 * MS, ..one_second() };
    let mut limiter = Limiter::<u32>::new(limit);
    let start = Instant::now();
    let mut low = 0;
    for key in 0..30_000 {
        let retry = limiter.retry(&key, &[Cause::FAILURE], start);
        assert!(retry.delay <= limit.max_delay, "{key}: {retry:?}");
        assert!(retry.priority == Priority::Normal || retry.delay > limit.base_delay, "{key}: {retry:?}");
        low += u32::from(retry.priority == Priority::Low);
        limiter.take_token(start);
    }
    assert_eq!(low, 30_000 - 110, "a full bucket, and the tokens that come within a key's own delay");
    let later = start + limit.max_delay + Duration::from_secs(10);
    let retry = limiter.retry(&0, &[failure(7)], later);
    assert_eq!(retry, Retry::normal(limit.base_delay, true), "the bucket is full again");
}

#[test]
fn the_memory_of_an_outage_is_given_back() {
    let mut limiter = Limiter::<u32>::new(one_second());
    for key in 0..10_000 {
        limiter.retry(&key, &[Cause::FAILURE], Instant::now());
    }
    (0..10_000).for_each(|key| limiter.forget(&key));
    assert!(limiter.failing.capacity() <= 2 * KEPT_CAPACITY, "{}", limiter.failing.capacity());
}

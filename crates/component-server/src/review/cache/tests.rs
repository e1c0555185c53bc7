use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::time::{advance, sleep, timeout};

use super::super::store::GENERATION_BYTES;
use super::*;

const TTL: Duration = Duration::from_secs(10);
const HERE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 1));

impl CacheKey for u32 {
    fn bytes(&self) -> usize {
        4
    }
}

impl CacheKey for String {
    fn bytes(&self) -> usize {
        size_of::<Self>() + self.len()
    }
}

/// Positive if even.
#[derive(Clone, Debug, PartialEq)]
struct Reply(u32);

impl CacheValue for Reply {
    fn bytes(&self) -> usize {
        4
    }

    fn is_positive(&self) -> bool {
        self.0.is_multiple_of(2)
    }
}

/// A cache in front of an API server that takes a second for each review.
struct Fixture {
    cache: ReviewCache<u32, Reply>,
    started: Arc<AtomicUsize>,
    completed: Arc<AtomicUsize>,
    ttl: Duration,
}

impl Fixture {
    fn new(ttl: Duration) -> Self {
        Self { cache: ReviewCache::new(), started: Arc::default(), completed: Arc::default(), ttl }
    }

    async fn get(&self, key: u32) -> Result<Reply, ReviewError> {
        self.get_from(HERE, key, Ok(Reply(key))).await
    }

    async fn get_from(
        &self,
        from: IpAddr,
        key: u32,
        result: Result<Reply, ReviewError>,
    ) -> Result<Reply, ReviewError> {
        let (started, completed, ttl) = (Arc::clone(&self.started), Arc::clone(&self.completed), self.ttl);
        let review = || async move {
            started.fetch_add(1, Ordering::Relaxed);
            sleep(Duration::from_secs(1)).await;
            completed.fetch_add(1, Ordering::Relaxed);
            result.map(|reply| (reply, ttl))
        };
        self.cache.get(key, from, review).await
    }

    fn started(&self) -> usize {
        self.started.load(Ordering::Relaxed)
    }
}

fn is_busy(result: &Result<Reply, ReviewError>) -> bool {
    matches!(result, Err(ReviewError::Busy))
}

#[tokio::test(start_paused = true)]
async fn a_result_is_cached_for_its_lifetime() {
    for key in [1, 2] {
        let fixture = Fixture::new(TTL);
        assert_eq!(fixture.get(key).await.unwrap(), Reply(key));
        advance(Duration::from_millis(7_499)).await;
        fixture.get(key).await.unwrap();
        assert_eq!(fixture.started(), 1);
        advance(Duration::from_millis(2_501)).await;
        fixture.get(key).await.unwrap();
        assert_eq!(fixture.started(), 2);
    }
}

#[tokio::test(start_paused = true)]
async fn concurrent_requests_share_a_review_even_without_a_lifetime() {
    let fixture = Fixture::new(Duration::ZERO);
    for key in [1, 4] {
        let before = fixture.started();
        let (one, other, _) = tokio::join!(fixture.get(key), fixture.get(key), fixture.get(key + 1));
        assert_eq!((one.unwrap(), other.unwrap()), (Reply(key), Reply(key)));
        assert_eq!(fixture.started(), before + 2);
        fixture.get(key).await.unwrap();
        assert_eq!(fixture.started(), before + 3);
    }
}

#[tokio::test(start_paused = true)]
async fn an_error_is_shared_but_not_cached() {
    let fixture = Fixture::new(TTL);
    let fails = || fixture.get_from(HERE, 2, Err(ReviewError::Invalid("away".to_owned())));
    let (one, other) = tokio::join!(fails(), fails());
    assert_eq!(
        (one.unwrap_err().to_string(), other.unwrap_err().to_string()),
        ("away".into(), "away".into())
    );
    assert_eq!(fixture.started(), 1);
    assert_eq!(fixture.get(2).await.unwrap(), Reply(2));
}

#[tokio::test(start_paused = true)]
async fn a_review_completes_after_its_requests_are_cancelled() {
    let fixture = Fixture::new(TTL);
    for _ in 0..100 {
        timeout(Duration::from_millis(5), fixture.get(1)).await.unwrap_err();
    }
    assert_eq!(fixture.started(), 1);
    sleep(Duration::from_millis(501)).await;
    assert_eq!(fixture.completed.load(Ordering::Relaxed), 1);
    timeout(Duration::ZERO, fixture.get(1)).await.unwrap().unwrap();
    assert_eq!(fixture.started(), 1);
}

#[tokio::test(start_paused = true)]
async fn an_aborted_review_is_started_again() {
    let cache = ReviewCache::<u32, Reply>::new();
    let broken = cache.get(1, HERE, || async { panic!("a bug in the review") }).await.unwrap_err();
    assert_eq!(broken.to_string(), "the review was aborted");
    let result = cache.get(1, HERE, || async { Ok((Reply(1), TTL)) }).await;
    assert_eq!(result.unwrap(), Reply(1));
}

#[tokio::test(start_paused = true)]
async fn a_positive_result_in_use_is_refreshed_before_it_expires() {
    let fixture = Fixture::new(TTL);
    fixture.get(2).await.unwrap();
    for second in 1..100 {
        sleep(Duration::from_secs(1)).await;
        timeout(Duration::ZERO, fixture.get(2)).await.expect("needs no wait").unwrap();
        assert!(fixture.started() <= 2 + second / 7, "{} in {second} s", fixture.started());
    }
    // A negative result is not refreshed before it expires.
    fixture.get(1).await.unwrap();
    let before = fixture.started();
    advance(Duration::from_secs(9)).await;
    fixture.get(1).await.unwrap();
    assert_eq!(fixture.started(), before);
}

#[tokio::test(start_paused = true)]
async fn a_refresh_replaces_a_positive_result_by_a_negative_one() {
    for refusal in [Ok(Reply(1)), Err(ReviewError::Invalid("expired".to_owned()))] {
        let fixture = Fixture::new(TTL);
        fixture.get(2).await.unwrap();
        advance(Duration::from_secs(8)).await;
        assert_eq!(fixture.get_from(HERE, 2, refusal.clone()).await.unwrap(), Reply(2), "valid for 10 s");
        sleep(Duration::from_secs(2)).await;
        let lookup = fixture.cache.0.state.lock().store.look_up(&2);
        match refusal {
            Ok(_) => assert!(matches!(lookup, Lookup::Fresh(Reply(1)))),
            Err(_) => {
                assert!(matches!(lookup, Lookup::Missing), "the next request is one of an unknown client")
            }
        }
    }
}

/// A hundred invalid tokens a second from each of ten addresses, for a minute.
#[tokio::test(start_paused = true)]
async fn a_flood_of_unknown_clients_does_not_delay_a_known_client() {
    let fixture = Arc::new(Fixture::new(TTL));
    fixture.get(2).await.unwrap();
    let mut flood = tokio::task::JoinSet::new();
    let mut key = 1;
    for second in 0..60 {
        for _ in 0..100 {
            for last in 1..=10 {
                key += 2;
                let (fixture, from) = (Arc::clone(&fixture), IpAddr::from([10, 0, 0, last]));
                flood.spawn(async move { fixture.get_from(from, key, Ok(Reply(1))).await });
            }
        }
        sleep(Duration::from_secs(1)).await;
        // As Prometheus does: after the result has expired, and from an address of the flood.
        if second % 15 == 14 {
            let result = timeout(Duration::from_millis(1_001), fixture.get(2)).await;
            assert_eq!(result.expect("one review").unwrap(), Reply(2));
        }
    }
    let results = flood.join_all().await;
    assert!(results.iter().any(is_busy), "most requests of the flood are refused");
    assert!(fixture.started() <= 70 * (REVIEWS_OF_UNKNOWN + 1), "{}", fixture.started());
}

#[tokio::test(start_paused = true)]
async fn memory_is_bounded_and_positive_results_are_not_displaced() {
    let cache = ReviewCache::<String, Reply>::new();
    let get = |key: String, reply| cache.get(key, HERE, move || async move { Ok((Reply(reply), TTL)) });
    get("positive".to_owned(), 2).await.unwrap();
    for i in 0..100 {
        get(format!("{i}{}", "x".repeat(100_000)), 1).await.unwrap();
    }
    get("y".repeat(2 * GENERATION_BYTES), 1).await.unwrap();
    let state = cache.0.state.lock();
    let generations = [&state.store.negative.young, &state.store.negative.old];
    let bytes = generations.map(|entries| entries.values().map(|entry| entry.bytes).sum::<usize>());
    assert!(bytes.iter().all(|bytes| *bytes <= GENERATION_BYTES), "{bytes:?}");
    assert!(bytes[1] > GENERATION_BYTES / 2 && bytes[0] == state.store.negative.young_bytes);
    assert!(matches!(state.store.look_up(&"positive".to_owned()), Lookup::Fresh(_)));
    assert!(state.in_flight.is_empty());
}

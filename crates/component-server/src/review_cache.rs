//! Answers of the API server that are believed for a while.

use std::collections::HashMap;
use std::hash::Hash;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::time::Instant;

use crate::lanes::{Lanes, Turn};
use crate::review::{ReviewError, within_limit};

/// Bytes in each of the two generations of good answers, and of the others.
const GENERATION: usize = 1 << 20;
/// Bytes of an entry beside the question and the answer, roughly.
const ENTRY: usize = 128;
/// Reviews at once of questions whose answer was never good. Keeps a flood of strangers from becoming one of reviews.
const TURNS_OF_STRANGERS: usize = 48;
/// Reviews at once of questions whose answer was good the last time.
const TURNS_OF_KNOWN: usize = 16;

/// Size in memory, roughly.
pub(crate) trait Weight {
    /// In bytes.
    fn bytes(&self) -> usize;
}

/// Key of the cache.
pub(crate) trait Question: Eq + Hash + Clone + Weight + Send + Sync + 'static {}

impl<T: Eq + Hash + Clone + Weight + Send + Sync + 'static> Question for T {}

/// Value of the cache.
pub(crate) trait Answer: Clone + Weight + Send + Sync + 'static {
    /// True if it lets a client in.
    fn is_good(&self) -> bool;
}

/// Remembers answers by question, each for its own time.
///
/// * Requests that ask the same at the same time share the answer. The review goes on without them: a client that hangs
///   up cancels no request to the API server, and finds the answer when it comes again.
/// * Good answers are kept apart from the others, which strangers can cause in any number. Once in use, they are asked
///   for again before they cease to be believed, and afterwards ahead of strangers: a flood of made-up tokens neither
///   displaces nor delays clients that have shown a good one.
/// * All others wait in [`Lanes`] by their address.
///
/// Bounded: when the young generation is full, it becomes the old one, and what was old is forgotten. Questions come from
/// strangers, so they are hashed with a random key (`std`'s hasher).
pub(crate) struct ReviewCache<K, V>(Arc<Shared<K, V>>);

struct Shared<K, V> {
    memory: Mutex<Memory<K, V>>,
    strangers: Arc<Lanes>,
    known: Arc<Lanes>,
}

struct Memory<K, V> {
    good: Generations<K, V>,
    others: Generations<K, V>,
    /// Reviews under way, each with a turn.
    reviews: HashMap<K, UnderWay<V>>,
}

/// Tells the answer once it is there. Closed without one if the review broke off.
type UnderWay<V> = watch::Receiver<Option<Result<V, ReviewError>>>;

struct Generations<K, V> {
    young: HashMap<K, Entry<V>>,
    old: HashMap<K, Entry<V>>,
    young_bytes: usize,
}

#[derive(Clone)]
struct Entry<V> {
    answer: V,
    /// From when on another review is worth it.
    aging: Instant,
    until: Instant,
    bytes: usize,
}

/// State of a question.
enum Known<V> {
    Fresh(V),
    /// Good, and soon to be asked again.
    Aging(V),
    /// No longer, but it was good.
    WasGood,
    Nothing,
}

impl<K: Question, V: Answer> ReviewCache<K, V> {
    pub(crate) fn new() -> Self {
        let generations = || Generations { young: HashMap::new(), old: HashMap::new(), young_bytes: 0 };
        let memory = Memory { good: generations(), others: generations(), reviews: HashMap::new() };
        let (strangers, known) = (Lanes::new(TURNS_OF_STRANGERS), Lanes::new(TURNS_OF_KNOWN));
        Self(Arc::new(Shared { memory: Mutex::new(memory), strangers, known }))
    }

    /// The answer to a question that a request from this address causes, from memory or from `review`, which says for
    /// how long it is to be believed.
    ///
    /// Errors are not remembered, but shared by requests that wait. Takes 10 s at most; fails at once if too many wait.
    pub(crate) async fn answer<R, F>(&self, question: K, from: IpAddr, review: R) -> Result<V, ReviewError>
    where
        R: FnOnce() -> F,
        F: Future<Output = Result<(V, Duration), ReviewError>> + Send + 'static,
    {
        let known = self.0.memory.lock().known(&question);
        let lanes = match known {
            Known::Fresh(answer) => return Ok(answer),
            Known::Aging(answer) => {
                let turn = self.0.known.enter(from).ok().and_then(crate::lanes::Place::turn_now);
                if let Some(turn) = turn {
                    self.begin(question, turn, review);
                }
                return Ok(answer);
            }
            Known::WasGood => &self.0.known,
            Known::Nothing => &self.0.strangers,
        };
        let place = lanes.enter(from)?;
        within_limit(async {
            let under_way = self.0.memory.lock().under_way(&question);
            if let Some(under_way) = under_way {
                let answer = follow(under_way).await;
                drop(place);
                return answer;
            }
            let turn = place.turn().await?;
            let known = self.0.memory.lock().known(&question);
            match known {
                Known::Fresh(answer) | Known::Aging(answer) => Ok(answer),
                Known::WasGood | Known::Nothing => follow(self.begin(question, turn, review)).await,
            }
        })
        .await
    }

    /// Begins a review that ends even if no request waits for it any more, unless there is one already.
    fn begin<R, F>(&self, question: K, turn: Turn, review: R) -> UnderWay<V>
    where
        R: FnOnce() -> F,
        F: Future<Output = Result<(V, Duration), ReviewError>> + Send + 'static,
    {
        let mut memory = self.0.memory.lock();
        if let Some(under_way) = memory.under_way(&question) {
            return under_way;
        }
        let (tell, under_way) = watch::channel(None);
        memory.reviews.insert(question.clone(), under_way.clone());
        drop(memory);
        let (shared, review) = (Arc::clone(&self.0), within_limit(review()));
        tokio::spawn(async move {
            let answer = review.await;
            shared.memory.lock().take_in(question, &answer, Instant::now());
            tell.send_replace(Some(answer.map(|(answer, _)| answer)));
            drop(turn);
        });
        under_way
    }
}

async fn follow<V: Answer>(mut under_way: UnderWay<V>) -> Result<V, ReviewError> {
    let answer = under_way.wait_for(Option::is_some).await.ok().and_then(|answer| answer.clone());
    answer.unwrap_or_else(|| Err(ReviewError::Answer("the review broke off".to_owned())))
}

impl<K: Question, V: Answer> Memory<K, V> {
    fn known(&self, question: &K) -> Known<V> {
        let now = Instant::now();
        match self.good.find(question) {
            Some(entry) if now < entry.aging => Known::Fresh(entry.answer.clone()),
            Some(entry) if now < entry.until => Known::Aging(entry.answer.clone()),
            Some(_) => Known::WasGood,
            None => match self.others.find(question) {
                Some(entry) if now < entry.until => Known::Fresh(entry.answer.clone()),
                _ => Known::Nothing,
            },
        }
    }

    fn under_way(&self, question: &K) -> Option<UnderWay<V>> {
        // One that has broken off has let go of its sender.
        self.reviews.get(question).filter(|under_way| under_way.has_changed().is_ok()).cloned()
    }

    fn take_in(&mut self, question: K, answer: &Result<(V, Duration), ReviewError>, now: Instant) {
        self.reviews.remove(&question);
        match answer {
            Ok((answer, ttl)) => {
                let until = now.checked_add(*ttl).unwrap_or(now);
                let aging = now.checked_add(*ttl * 3 / 4).unwrap_or(now);
                let bytes = ENTRY + question.bytes() + answer.bytes();
                let entry = Entry { answer: answer.clone(), aging, until, bytes };
                self.forget(&question);
                if answer.is_good() {
                    self.good.insert(question, entry);
                } else if until > now {
                    self.others.insert(question, entry);
                }
            }
            // The API server has made up its mind, in words.
            Err(ReviewError::Answer(_)) => self.forget(&question),
            Err(_) => (),
        }
    }

    fn forget(&mut self, question: &K) {
        self.good.remove(question);
        self.others.remove(question);
    }
}

impl<K: Question, V> Generations<K, V> {
    fn find(&self, question: &K) -> Option<&Entry<V>> {
        self.young.get(question).or_else(|| self.old.get(question))
    }

    /// The question must not be there yet.
    fn insert(&mut self, question: K, entry: Entry<V>) {
        if entry.bytes > GENERATION {
            return;
        }
        if self.young_bytes + entry.bytes > GENERATION {
            self.old = std::mem::take(&mut self.young);
            self.young_bytes = 0;
        }
        self.young_bytes += entry.bytes;
        self.young.insert(question, entry);
    }

    fn remove(&mut self, question: &K) {
        if let Some(entry) = self.young.remove(question) {
            self.young_bytes -= entry.bytes;
        }
        self.old.remove(question);
    }
}

impl Weight for [u8; 32] {
    fn bytes(&self) -> usize {
        self.len()
    }
}

impl Weight for String {
    fn bytes(&self) -> usize {
        size_of::<Self>() + self.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::future::join_all;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use tokio::time::{advance, sleep, timeout};

    const TTL: Duration = Duration::from_secs(10);
    const HERE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 1));

    impl Weight for u32 {
        fn bytes(&self) -> usize {
            4
        }
    }

    /// Good if it is even, which takes the API server a second to find out.
    #[derive(Clone, Debug, PartialEq)]
    struct Said(u32);

    impl Weight for Said {
        fn bytes(&self) -> usize {
            4
        }
    }

    impl Answer for Said {
        fn is_good(&self) -> bool {
            self.0.is_multiple_of(2)
        }
    }

    struct Asked {
        cache: ReviewCache<u32, Said>,
        begun: Arc<AtomicUsize>,
        ended: Arc<AtomicUsize>,
        ttl: Duration,
    }

    impl Asked {
        fn new(ttl: Duration) -> Self {
            Self { cache: ReviewCache::new(), begun: Arc::default(), ended: Arc::default(), ttl }
        }

        async fn ask(&self, question: u32) -> Result<Said, ReviewError> {
            self.ask_from(HERE, question, Ok(Said(question))).await
        }

        async fn ask_from(
            &self,
            from: IpAddr,
            question: u32,
            answer: Result<Said, ReviewError>,
        ) -> Result<Said, ReviewError> {
            let (begun, ended, ttl) = (Arc::clone(&self.begun), Arc::clone(&self.ended), self.ttl);
            let review = || async move {
                begun.fetch_add(1, Ordering::Relaxed);
                sleep(Duration::from_secs(1)).await;
                ended.fetch_add(1, Ordering::Relaxed);
                answer.map(|answer| (answer, ttl))
            };
            self.cache.answer(question, from, review).await
        }

        fn begun(&self) -> usize {
            self.begun.load(Ordering::Relaxed)
        }
    }

    fn busy(answer: &Result<Said, ReviewError>) -> bool {
        matches!(answer, Err(ReviewError::Busy))
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_counts_for_its_time() {
        for question in [1, 2] {
            let asked = Asked::new(TTL);
            assert_eq!(asked.ask(question).await.unwrap(), Said(question));
            advance(Duration::from_millis(7_499)).await;
            asked.ask(question).await.unwrap();
            assert_eq!(asked.begun(), 1);
            advance(Duration::from_millis(2_501)).await;
            asked.ask(question).await.unwrap();
            assert_eq!(asked.begun(), 2);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn questions_at_the_same_time_share_an_answer_even_without_memory() {
        let asked = Asked::new(Duration::ZERO);
        for question in [1, 4] {
            let before = asked.begun();
            let (one, other, _) =
                tokio::join!(asked.ask(question), asked.ask(question), asked.ask(question + 1));
            assert_eq!((one.unwrap(), other.unwrap()), (Said(question), Said(question)));
            assert_eq!(asked.begun(), before + 2);
            asked.ask(question).await.unwrap();
            assert_eq!(asked.begun(), before + 3);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn an_error_is_shared_but_not_remembered() {
        let asked = Asked::new(TTL);
        let fails = || asked.ask_from(HERE, 2, Err(ReviewError::Answer("away".to_owned())));
        let (one, other) = tokio::join!(fails(), fails());
        assert_eq!(
            (one.unwrap_err().to_string(), other.unwrap_err().to_string()),
            ("away".into(), "away".into())
        );
        assert_eq!(asked.begun(), 1);
        assert_eq!(asked.ask(2).await.unwrap(), Said(2));
    }

    #[tokio::test(start_paused = true)]
    async fn a_review_goes_on_without_those_who_asked() {
        let asked = Asked::new(TTL);
        for _ in 0..100 {
            timeout(Duration::from_millis(5), asked.ask(1)).await.unwrap_err();
        }
        assert_eq!(asked.begun(), 1);
        sleep(Duration::from_millis(501)).await;
        assert_eq!(asked.ended.load(Ordering::Relaxed), 1);
        timeout(Duration::ZERO, asked.ask(1)).await.unwrap().unwrap();
        assert_eq!(asked.begun(), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn a_review_that_breaks_off_is_begun_again() {
        let cache = ReviewCache::<u32, Said>::new();
        let broken = cache.answer(1, HERE, || async { panic!("a bug in the review") }).await.unwrap_err();
        assert_eq!(broken.to_string(), "the review broke off");
        let answer = cache.answer(1, HERE, || async { Ok((Said(1), TTL)) }).await;
        assert_eq!(answer.unwrap(), Said(1));
    }

    #[tokio::test(start_paused = true)]
    async fn a_good_answer_in_use_is_asked_for_before_it_is_needed() {
        let asked = Asked::new(TTL);
        asked.ask(2).await.unwrap();
        for second in 1..100 {
            sleep(Duration::from_secs(1)).await;
            timeout(Duration::ZERO, asked.ask(2)).await.expect("needs no wait").unwrap();
            assert!(asked.begun() <= 2 + second / 7, "{} in {second} s", asked.begun());
        }
        // One that is not good is only asked for once it has ceased to count.
        asked.ask(1).await.unwrap();
        let before = asked.begun();
        advance(Duration::from_secs(9)).await;
        asked.ask(1).await.unwrap();
        assert_eq!(asked.begun(), before);
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_that_is_no_longer_good_is_no_longer_given() {
        for refusal in [Ok(Said(1)), Err(ReviewError::Answer("expired".to_owned()))] {
            let asked = Asked::new(TTL);
            asked.ask(2).await.unwrap();
            advance(Duration::from_secs(8)).await;
            assert_eq!(
                asked.ask_from(HERE, 2, refusal.clone()).await.unwrap(),
                Said(2),
                "it counts for 10 s"
            );
            sleep(Duration::from_secs(2)).await;
            let known = asked.cache.0.memory.lock().known(&2);
            match refusal {
                Ok(_) => assert!(matches!(known, Known::Fresh(Said(1)))),
                Err(_) => assert!(matches!(known, Known::Nothing), "and it is a stranger's from now on"),
            }
        }
    }

    /// A hundred made-up tokens a second from each of ten addresses, for a minute.
    #[tokio::test(start_paused = true)]
    async fn a_flood_of_strangers_delays_no_client_whose_answer_was_good() {
        let asked = Arc::new(Asked::new(TTL));
        asked.ask(2).await.unwrap();
        let mut flood = tokio::task::JoinSet::new();
        let mut question = 1;
        for second in 0..60 {
            for _ in 0..100 {
                for last in 1..=10 {
                    question += 2;
                    let (asked, from) = (Arc::clone(&asked), IpAddr::from([10, 0, 0, last]));
                    flood.spawn(async move { asked.ask_from(from, question, Ok(Said(1))).await });
                }
            }
            sleep(Duration::from_secs(1)).await;
            // As Prometheus does, too seldom for an answer to be still believed, and from an address of the flood.
            if second % 15 == 14 {
                let answer = timeout(Duration::from_millis(1_001), asked.ask(2)).await;
                assert_eq!(answer.expect("one review").unwrap(), Said(2));
            }
        }
        let answers = flood.join_all().await;
        assert!(answers.iter().any(busy), "most of them are told so");
        assert!(asked.begun() <= 70 * (TURNS_OF_STRANGERS + 1), "{}", asked.begun());
    }

    #[tokio::test(start_paused = true)]
    async fn a_flood_from_one_address_leaves_turns_to_a_newcomer() {
        let asked = Asked::new(TTL);
        let flood = (0..2_000).map(|i| asked.ask_from(HERE, 2 * i + 1, Ok(Said(1))));
        let newcomer =
            timeout(Duration::from_millis(1_001), asked.ask_from([10, 0, 0, 2].into(), 2, Ok(Said(2))));
        let (flood, newcomer) = tokio::join!(join_all(flood), newcomer);
        assert_eq!(newcomer.expect("one review").unwrap(), Said(2));
        assert!(flood.iter().filter(|answer| busy(answer)).count() >= 1_000);
    }

    #[tokio::test(start_paused = true)]
    async fn memory_is_bounded_and_good_answers_are_not_displaced() {
        let cache = ReviewCache::<String, Said>::new();
        let ask = |question: String, said| {
            cache.answer(question, HERE, move || async move { Ok((Said(said), TTL)) })
        };
        ask("good".to_owned(), 2).await.unwrap();
        for i in 0..100 {
            ask(format!("{i}{}", "x".repeat(100_000)), 1).await.unwrap();
        }
        ask("y".repeat(2 * GENERATION), 1).await.unwrap();
        let memory = cache.0.memory.lock();
        let generations = [&memory.others.young, &memory.others.old];
        let bytes = generations.map(|entries| entries.values().map(|entry| entry.bytes).sum::<usize>());
        assert!(bytes.iter().all(|bytes| *bytes <= GENERATION), "{bytes:?}");
        assert!(bytes[1] > GENERATION / 2 && bytes[0] == memory.others.young_bytes);
        assert!(matches!(memory.known(&"good".to_owned()), Known::Fresh(_)));
        assert!(memory.reviews.is_empty());
    }
}

//! Requirements on keys and values of the review cache.

use std::hash::Hash;

use super::api::{AccessReview, AccessReviewStatus};
use crate::user::User;

/// Size in memory, which the cache bounds.
pub(crate) trait MemorySize {
    /// Returns the size in bytes, roughly.
    fn bytes(&self) -> usize;
}

/// Key of the cache: the subject of a review.
pub(crate) trait CacheKey: Eq + Hash + Clone + MemorySize + Send + Sync + 'static {}

impl<T: Eq + Hash + Clone + MemorySize + Send + Sync + 'static> CacheKey for T {}

/// Value of the cache: the result of a review.
pub(crate) trait CacheValue: Clone + MemorySize + Send + Sync + 'static {
    /// True if the result authenticates the client or allows the request.
    fn is_positive(&self) -> bool;
}

/// The keyed hash of a token.
impl MemorySize for [u8; 32] {
    fn bytes(&self) -> usize {
        self.len()
    }
}

/// The owner of a token; none for an invalid token.
impl MemorySize for Option<User> {
    fn bytes(&self) -> usize {
        size_of::<Self>() + self.as_ref().map_or(0, User::heap_bytes)
    }
}

impl CacheValue for Option<User> {
    fn is_positive(&self) -> bool {
        self.is_some()
    }
}

impl MemorySize for AccessReview {
    fn bytes(&self) -> usize {
        let Self { user, verb, path } = self;
        size_of::<Self>() + user.heap_bytes() + verb.len() + path.len()
    }
}

impl MemorySize for AccessReviewStatus {
    fn bytes(&self) -> usize {
        size_of::<Self>() + self.reason.len()
    }
}

impl CacheValue for AccessReviewStatus {
    fn is_positive(&self) -> bool {
        self.allowed
    }
}

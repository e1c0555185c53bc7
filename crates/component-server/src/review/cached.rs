//! Requirements on keys and values of the review cache.

use std::hash::Hash;

use super::api::{AccessReview, AccessReviewStatus};
use crate::user::User;

/// Key of the cache: the subject of a review.
pub(crate) trait CacheKey: Eq + Hash + Clone + Send + Sync + 'static {
    /// Returns the size in memory in bytes, roughly, which the cache bounds.
    fn bytes(&self) -> usize;
}

/// Value of the cache: the result of a review.
pub(crate) trait CacheValue: Clone + Send + Sync + 'static {
    /// Returns the size in memory in bytes, roughly, which the cache bounds.
    fn bytes(&self) -> usize;

    /// True if the result authenticates the client or allows the request.
    fn is_positive(&self) -> bool;
}

/// The keyed hash of a token.
impl CacheKey for [u8; 32] {
    fn bytes(&self) -> usize {
        self.len()
    }
}

/// The owner of a token; none for an invalid token.
impl CacheValue for Option<User> {
    fn bytes(&self) -> usize {
        size_of::<Self>() + self.as_ref().map_or(0, User::heap_bytes)
    }

    fn is_positive(&self) -> bool {
        self.is_some()
    }
}

impl CacheKey for AccessReview {
    fn bytes(&self) -> usize {
        let Self { user, verb, path } = self;
        size_of::<Self>() + user.heap_bytes() + verb.len() + path.len()
    }
}

impl CacheValue for AccessReviewStatus {
    fn bytes(&self) -> usize {
        size_of::<Self>() + self.reason.len()
    }

    fn is_positive(&self) -> bool {
        self.allowed
    }
}

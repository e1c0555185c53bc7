//! Reviews: questions to the API server about tokens and access, bounded and cached.

mod api;
mod cache;
mod cached;
mod client;
mod error;
mod limit;
mod store;

pub use api::{AccessReview, AccessReviewStatus, AuthenticationApi, AuthorizationApi};
pub(crate) use cache::ReviewCache;
pub use client::ApiReviews;
pub use error::ReviewError;
pub(crate) use error::within_limit;

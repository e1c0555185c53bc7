//! Bearer tokens.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use http::HeaderMap;
use http::header::AUTHORIZATION;
use ring::{hmac, rand};

use crate::review::{AuthenticationApi, ReviewCache, ReviewError};
use crate::user::User;

/// Authenticates bearer tokens by reviews, and caches the results.
pub(super) struct TokenAuthenticator<A> {
    api: Arc<A>,
    ttl: Duration,
    /// Tokens are cached by a keyed hash: none stays in memory after its request, and clients cannot choose tokens that
    /// collide.
    hash_key: hmac::Key,
    cache: ReviewCache<[u8; 32], Option<User>>,
}

impl<A: AuthenticationApi> TokenAuthenticator<A> {
    pub(super) fn new(api: A, ttl: Duration) -> Result<Self, ring::error::Unspecified> {
        let hash_key = hmac::Key::generate(hmac::HMAC_SHA256, &rand::SystemRandom::new())?;
        Ok(Self { api: Arc::new(api), ttl, hash_key, cache: ReviewCache::new() })
    }

    /// Returns the client of the API server.
    pub(super) fn api(&self) -> &A {
        &self.api
    }

    /// Returns the owner of the token in these headers; none without a token. `from` is the address of the client.
    pub(super) async fn authenticate(
        &self,
        headers: &HeaderMap,
        from: IpAddr,
    ) -> Result<Option<User>, ReviewError> {
        let Some(token) = token(headers) else { return Ok(None) };
        let owner = self.cache.get(self.key(token), from, || self.review(token.to_owned())).await?;
        owner.map(Some).ok_or_else(|| ReviewError::Invalid("invalid bearer token".to_owned()))
    }

    fn key(&self, token: &str) -> [u8; 32] {
        let mut key = [0; 32];
        let tag = hmac::sign(&self.hash_key, token.as_bytes());
        key.iter_mut().zip(tag.as_ref()).for_each(|(to, from)| *to = *from);
        key
    }

    fn review(
        &self,
        token: String,
    ) -> impl Future<Output = Result<(Option<User>, Duration), ReviewError>> + Send + use<A> {
        let (api, ttl) = (Arc::clone(&self.api), self.ttl);
        async move { Ok((api.review_token(&token).await?, ttl)) }
    }
}

/// Returns the token of an `Authorization: Bearer` header (`bearertoken.go`): the word after the scheme, whose case is
/// ignored. As upstream, a token after two spaces is not found.
fn token(headers: &HeaderMap) -> Option<&str> {
    let mut words = headers.get(AUTHORIZATION)?.to_str().ok()?.trim().split(' ');
    let scheme = words.next()?;
    words.next().filter(|token| scheme.eq_ignore_ascii_case("bearer") && !token.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_found_where_upstream_finds_them() {
        for (header, expected) in [
            ("Bearer abc", Some("abc")),
            ("bEARER abc", Some("abc")),
            ("  Bearer abc  ", Some("abc")),
            ("Bearer abc def", Some("abc")),
            ("Bearer  abc", None),
            ("Bearer", None),
            ("Bearer ", None),
            ("Basic abc", None),
            ("", None),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(AUTHORIZATION, header.parse().unwrap());
            assert_eq!(token(&headers), expected, "{header:?}");
        }
        assert_eq!(token(&HeaderMap::new()), None);
    }
}

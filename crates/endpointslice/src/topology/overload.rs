//! The overload threshold: the fewest endpoints that can serve a zone.

/// Accepted overload of an endpoint, compared with an even spread: a fifth (`topologycache.go` `overloadThreshold`).
const OVERLOAD_THRESHOLD: f64 = 0.2;

/// The part of its proportional number of endpoints that a zone cannot do without.
const LEAST_PART: f64 = 1.0 / (1.0 + OVERLOAD_THRESHOLD);

/// The endpoints that a zone needs at least, if its proportional number is `share * total`.
///
/// The operations are upstream's, in upstream's order, so that rounding goes the same way.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // a share of a count, never negative
pub(super) fn minimum(share: f64, total: usize) -> usize {
    (as_f64(total) * share * LEAST_PART).ceil() as usize
}

#[allow(clippy::cast_precision_loss)] // counts of endpoints stay far below 2^52
pub(super) fn as_f64(count: usize) -> f64 {
    count as f64
}

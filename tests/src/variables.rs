//! Variables of the environment, with which commands of `hack` and `cargo xtask` say what a test does.

use std::env;
use std::fmt::Debug;
use std::str::FromStr;

/// The value of a variable; none if it is not set, or empty.
///
/// # Panics
/// If it has another type.
pub fn variable<T: FromStr<Err: Debug>>(name: &str) -> Option<T> {
    let text = env::var(name).ok().filter(|text| !text.is_empty())?;
    Some(text.parse().unwrap_or_else(|error| panic!("{name}={text}: {error:?}")))
}

//! Tokens of servers that one user of this machine starts.

use ring::rand::{SecureRandom as _, SystemRandom};

/// A token that nobody can guess: 128 random bits, in hexadecimal digits.
///
/// # Errors
/// A line, if the system has no random numbers.
pub(crate) fn random() -> Result<String, String> {
    let mut bits = [0; 16];
    SystemRandom::new().fill(&mut bits).map_err(|_| "the system has no random numbers".to_owned())?;
    Ok(format!("{:032x}", u128::from_ne_bytes(bits)))
}

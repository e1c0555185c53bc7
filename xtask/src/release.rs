//! The version of a release of Kubernetes.

use std::fmt;
use std::str::FromStr;

/// The number of minor releases that are supported: upstream emulates its own and the three before.
const SUPPORTED: u16 = 4;

/// A release `v1.<minor>.<patch>`, perhaps with `-alpha.0` or the like.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Release {
    pub(crate) minor: u16,
    pub(crate) patch: u16,
    /// With the hyphen; empty for a release proper.
    pub(crate) suffix: String,
}

impl Release {
    /// The version of the libraries that are released with it.
    pub(crate) fn staging(&self) -> String {
        format!("v0.{}.{}{}", self.minor, self.patch, self.suffix)
    }

    /// Without the `v`, as in texts.
    pub(crate) fn number(&self) -> String {
        self.to_string().trim_start_matches('v').to_owned()
    }

    /// The oldest minor release that is supported beside it.
    pub(crate) fn oldest(&self) -> u16 {
        self.minor + 1 - SUPPORTED
    }
}

impl fmt::Display for Release {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "v1.{}.{}{}", self.minor, self.patch, self.suffix)
    }
}

impl FromStr for Release {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("{text:?} is no release such as v1.38.0");
        let numbers = text.strip_prefix("v1.").ok_or_else(wrong)?;
        let end = numbers.find('-').unwrap_or(numbers.len());
        let (minor, patch) = numbers[..end].split_once('.').ok_or_else(wrong)?;
        let number = |text: &str| text.parse().map_err(|_| wrong());
        Ok(Self { minor: number(minor)?, patch: number(patch)?, suffix: numbers[end..].to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_are_read_and_ordered() {
        let read = |text: &str| text.parse::<Release>();
        let release = read("v1.38.0-alpha.0").unwrap();
        assert_eq!(
            (release.to_string().as_str(), &*release.staging()),
            ("v1.38.0-alpha.0", "v0.38.0-alpha.0")
        );
        assert_eq!(
            (read("v1.37.2").unwrap().number(), read("v1.37.2").unwrap().oldest()),
            ("1.37.2".to_owned(), 34)
        );
        assert!(read("v1.37.10").unwrap() > read("v1.37.9").unwrap());
        for wrong in ["1.37.2", "v1.37", "v2.0.0", "v1.x.2"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}

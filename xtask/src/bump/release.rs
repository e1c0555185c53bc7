//! A release of Kubernetes, and its names.

use std::fmt;

/// A release of Kubernetes 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Release {
    pub(crate) minor: u32,
    /// The rest: `2`, or `0-alpha.0`.
    pub(crate) patch: String,
}

impl Release {
    /// Reads `v1.37.2`, also without the first letter.
    ///
    /// # Errors
    /// If it is not the name of a release.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let parts = || text.trim_start_matches('v').strip_prefix("1.")?.split_once('.');
        let release = parts().and_then(|(minor, patch)| {
            let number = patch.split('-').next()?;
            number.parse::<u32>().ok()?;
            Some(Self { minor: minor.parse().ok()?, patch: patch.to_owned() })
        });
        release.ok_or_else(|| format!("{text:?} is not a release such as v1.38.0"))
    }

    /// The version of the modules that are released with it, such as `v0.37.2`.
    pub(crate) fn modules(&self) -> String {
        format!("v0.{}.{}", self.minor, self.patch)
    }

    /// The feature of `k8s-openapi`, such as `v1_37`.
    pub(crate) fn feature(&self) -> String {
        format!("v1_{}", self.minor)
    }
}

/// As in `1.37.2`.
impl fmt::Display for Release {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "1.{}.{}", self.minor, self.patch)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_have_four_names() {
        for (text, names) in [
            ("v1.37.2", ["1.37.2", "v0.37.2", "v1_37"]),
            ("1.38.0-alpha.0", ["1.38.0-alpha.0", "v0.38.0-alpha.0", "v1_38"]),
        ] {
            let release = Release::parse(text).unwrap();
            assert_eq!([release.to_string(), release.modules(), release.feature()], names);
        }
        for text in ["", "v1.37", "v2.0.0", "1.x.0", "1.37.x", "latest"] {
            assert_eq!(
                Release::parse(text).err(),
                Some(format!("{text:?} is not a release such as v1.38.0"))
            );
        }
    }
}

//! Certificates and keys as they were read, to be compared with what is served.

use std::fmt;

use zeroize::Zeroizing;

/// A certificate chain and its key in PEM.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct KeyPair {
    /// Where it came from, for messages.
    pub(crate) what: String,
    pub(crate) certificate: Vec<u8>,
    pub(crate) key: Zeroizing<Vec<u8>>,
    /// The names it was given for; none stands for those in the certificate.
    pub(crate) names: Vec<String>,
}

/// Everything that the server can show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Material {
    pub(crate) default: KeyPair,
    pub(crate) named: Vec<KeyPair>,
}

/// Without the key.
impl fmt::Debug for KeyPair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyPair")
            .field("what", &self.what)
            .field("names", &self.names)
            .finish_non_exhaustive()
    }
}

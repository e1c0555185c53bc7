//! Throw-away certificates in files.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rcgen::ExtendedKeyUsagePurpose;
use scripted_api::pki::Identity;

pub(crate) use scripted_api::pki::{Authority, named, write};

/// The files of a certificate and its key.
pub(crate) struct Pair {
    pub(crate) certificate: PathBuf,
    pub(crate) key: PathBuf,
}

impl Pair {
    /// Writes them.
    pub(crate) fn of(identity: &Identity, folder: &Path, name: &str) -> Self {
        let (certificate, key) = identity.write(folder, name);
        Self { certificate, key }
    }

    /// Writes a client certificate.
    pub(crate) fn client(authority: &Authority, folder: &Path, name: &str, groups: &[&str]) -> Self {
        Self::of(&authority.client_called(name, groups), folder, name)
    }

    /// Writes a client certificate that is valid for this time from now on.
    pub(crate) fn client_for(authority: &Authority, valid: Duration, folder: &Path, name: &str) -> Self {
        let mut params = named(name, &[]);
        let end = SystemTime::now() + valid;
        params.not_after = rcgen::date_time_ymd(1970, 1, 1) + end.duration_since(UNIX_EPOCH).unwrap();
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        Self::of(&authority.sign(&params), folder, name)
    }
}

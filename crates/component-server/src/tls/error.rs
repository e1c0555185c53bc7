//! Errors of certificates and TLS settings.

use std::path::PathBuf;

/// An unusable certificate, key or TLS setting.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file cannot be read.
    #[error("cannot read {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Cause.
        #[source]
        source: std::io::Error,
    },
    /// A self-signed certificate or its key cannot be written.
    #[error("cannot write {}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// Cause.
        #[source]
        source: std::io::Error,
    },
    /// The content is invalid. Never contains key material.
    #[error("{origin}: {reason}")]
    Content {
        /// File or other origin of the content.
        origin: String,
        /// Cause.
        reason: String,
    },
    /// A self-signed certificate cannot be generated.
    #[error("cannot generate a self-signed certificate")]
    SelfSigned(#[source] rcgen::Error),
    /// rustls refuses the combination of settings.
    #[error("unusable TLS configuration")]
    Config(#[source] rustls::Error),
}

impl TlsError {
    pub(crate) fn content(origin: &str, reason: &dyn ToString) -> Self {
        Self::Content { origin: origin.to_owned(), reason: reason.to_string() }
    }
}

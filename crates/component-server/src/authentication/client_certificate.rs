//! The user of a client certificate.

use std::fmt::Write as _;

use ring::digest;
use rustls::pki_types::CertificateDer;

use crate::tls::Subject;
use crate::user::User;

/// Returns the user of a verified chain: the common name, with the organizations as groups (`x509.go`
/// `CommonNameUserConversion`). None without a common name.
pub(super) fn user(chain: &[CertificateDer<'_>]) -> Result<Option<User>, String> {
    let Subject { common_name, organizations, uids } = Subject::of_chain(chain)?;
    if common_name.is_empty() {
        return Ok(None);
    }
    let uid = match uids.as_slice() {
        [] => String::new(),
        [uid] if !uid.is_empty() => uid.clone(),
        [_] => return Err("UID cannot be an empty string".to_owned()),
        _ => return Err("expected 1 UID, but found multiple".to_owned()),
    };
    let credential = format!("X509SHA256={}", chain.first().map(fingerprint).unwrap_or_default());
    let extra = [("authentication.kubernetes.io/credential-id".to_owned(), vec![credential])].into();
    Ok(Some(User { name: common_name, uid, groups: organizations, extra }))
}

fn fingerprint(certificate: &CertificateDer<'_>) -> String {
    let digest = digest::digest(&digest::SHA256, certificate);
    digest.as_ref().iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}"); // into a String: cannot fail
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use rcgen::{DnType, KeyPair};
    use scripted_api::pki::named;

    const UID: &[u64] = &[1, 3, 6, 1, 4, 1, 57683, 2];

    /// Of a client of this name in the organization `devs`.
    fn certificate(name: &str, uid: &str) -> CertificateDer<'static> {
        let mut params = named(name, &["devs"]);
        params.distinguished_name.push(DnType::CustomDnType(UID.to_vec()), uid);
        params.self_signed(&KeyPair::generate().unwrap()).unwrap().der().clone()
    }

    #[test]
    fn common_name_organization_and_uid_make_the_user() {
        let user = user(&[certificate("bob", "7")]).unwrap().unwrap();
        assert_eq!((user.name.as_str(), user.uid.as_str()), ("bob", "7"));
        assert_eq!(user.groups, ["devs"]);
        let credential = &user.extra["authentication.kubernetes.io/credential-id"][0];
        assert_eq!(credential.len(), "X509SHA256=".len() + 64, "{credential}");
    }

    #[test]
    fn a_certificate_without_a_common_name_has_no_user() {
        assert_eq!(user(&[certificate("", "7")]), Ok(None));
    }

    #[test]
    fn an_empty_uid_is_an_error() {
        let error = user(&[certificate("bob", "")]).unwrap_err();
        assert_eq!(error, "UID cannot be an empty string");
    }

    #[test]
    fn a_malformed_certificate_is_an_error() {
        assert!(user(&[CertificateDer::from(vec![0x30, 0x80, 1])]).is_err());
        assert!(user(&[]).is_err());
    }
}

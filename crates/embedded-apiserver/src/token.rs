//! Tokens of service accounts: JSON Web Tokens without a signature.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};

/// The issuer of tokens, and the audience of those that name none.
pub(crate) const ISSUER: &str = "https://kubernetes.default.svc";

/// A service account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Account {
    pub(crate) namespace: String,
    pub(crate) name: String,
    pub(crate) uid: String,
}

/// A token of an account. Times are seconds since 1970.
pub(crate) fn issue(account: &Account, audiences: &Value, issued: i64, expires: i64) -> String {
    let Account { namespace, name, uid } = account;
    let claims = json!({
        "iss": ISSUER,
        "sub": format!("system:serviceaccount:{namespace}:{name}"),
        "aud": audiences,
        "iat": issued,
        "nbf": issued,
        "exp": expires,
        "kubernetes.io": { "namespace": namespace, "serviceaccount": { "name": name, "uid": uid } },
    });
    let encode = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    format!("{}.{}.", encode(&json!({ "alg": "none", "typ": "JWT" })), encode(&claims))
}

/// The account of a token of this crate.
pub(crate) fn account_of(token: &str) -> Option<Account> {
    let claims = token.split('.').nth(1)?;
    let claims: Value = serde_json::from_slice(&URL_SAFE_NO_PAD.decode(claims).ok()?).ok()?;
    let text = |pointer| claims.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
    Some(Account {
        namespace: text("/kubernetes.io/namespace")?,
        name: text("/kubernetes.io/serviceaccount/name")?,
        uid: text("/kubernetes.io/serviceaccount/uid")?,
    })
}

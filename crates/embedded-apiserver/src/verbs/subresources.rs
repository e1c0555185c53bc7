//! Subresources that are actions: `pods/binding` and `serviceaccounts/token`.

use serde_json::{Value, json};

use super::call::{Call, Content, Outcome};
use super::change::precondition_failed;
use super::commit;
use super::decode::{self, Expected};
use super::lifecycle;
use super::meta;
use super::names;
use super::options::{WriteOptions, manager};
use super::read;
use super::tracking;
use crate::http::content_type;
use crate::kinds::{bind, fit_namespace, timestamp, tree};
use crate::schema::Type;
use crate::status::Status;
use crate::token::{self, Account};

const TOKEN_KIND: &str = "TokenRequest";
/// Seconds that a token is good for, unless the request asks for others.
const TOKEN_TIME: i64 = 3600;

/// Acts on an object.
pub(crate) fn create(call: Call<'_>, warnings: &mut Vec<String>) -> Result<Outcome, Status> {
    match call.target.subresource {
        "token" => token(call, warnings),
        "binding" => binding(call, warnings),
        other => Err(Status::internal(format!("subresource {other} cannot be created"))),
    }
}

/// The decoded body, which fits its namespace, of a request that the namespace admits.
fn admitted(
    call: Call<'_>,
    api_version: &'static str,
    kind: &'static str,
    type_name: &str,
    warnings: &mut Vec<String>,
) -> Result<(Value, WriteOptions, &'static Type), Status> {
    let type_ = Type::named(type_name).ok_or_else(|| Status::internal(format!("no schema of {kind}")))?;
    let format = content_type::format_of(call.headers)?;
    let body = call.body()?;
    let options = WriteOptions::parse(call.query, "CreateOptions")?;
    let expected = Expected { api_version, kind, type_ };
    let mut object = decode::body(format, body, expected, options.validation, warnings)?;
    fit_namespace(call.entry.kind, &call.target.namespace, &mut object)?;
    lifecycle::admit_create(call.core, call.entry, &call.target.namespace, &call.target.name)?;
    Ok((object, options, type_))
}

/// `TokenREST` of the registry of service accounts.
fn token(call: Call<'_>, warnings: &mut Vec<String>) -> Result<Outcome, Status> {
    let Call { core, entry, target, .. } = call;
    let api_version = "authentication.k8s.io/v1";
    let type_name = "k8s.io/api/authentication/v1.TokenRequest";
    let (mut object, options, type_) = admitted(call, api_version, TOKEN_KIND, type_name, warnings)?;
    // A default of upstream's decoder: the field is managed by the client that left it out.
    tree::set_default(tree::field_mut(&mut object, "spec"), "expirationSeconds", TOKEN_TIME);
    tracking::of_other(type_, api_version, TOKEN_KIND, "token").update(
        None,
        &mut object,
        &manager(&options, call.headers),
        core.environment.now(),
    );
    let uid = meta::text(&entry.tree(read::get(call)?.body())?, "uid").to_owned();
    let seconds = object.pointer("/spec/expirationSeconds").and_then(Value::as_i64).unwrap_or(TOKEN_TIME);
    let audiences = object.pointer("/spec/audiences").filter(|audiences| !tree::is_void(audiences)).cloned();
    let audiences = audiences.unwrap_or_else(|| json!([token::ISSUER]));
    let now = core.environment.now();
    let expires = now.saturating_add(jiff::SignedDuration::from_secs(seconds)).unwrap_or(now);
    let account = Account { namespace: target.namespace.clone(), name: target.name.clone(), uid };
    let text = token::issue(&account, &audiences, now.as_second(), expires.as_second());
    for (field, value) in [("name", &account.name), ("uid", &account.uid)] {
        meta::set(&mut object, field, value.as_str().into());
    }
    meta::set(&mut object, "creationTimestamp", timestamp(now).into());
    let spec = tree::field_mut(&mut object, "spec");
    tree::set(spec, "audiences", audiences);
    tree::set(spec, "expirationSeconds", seconds);
    let status = json!({ "token": text, "expirationTimestamp": timestamp(expires) });
    tree::set(&mut object, "status", status);
    let content = Content::Other(api_version, TOKEN_KIND, Some(type_), object);
    Ok(Outcome::new(201, content))
}

/// `BindingREST` of the registry of Pods.
fn binding(call: Call<'_>, warnings: &mut Vec<String>) -> Result<Outcome, Status> {
    let Call { core, entry, target, .. } = call;
    let (object, options, _) = admitted(call, "v1", "Binding", "k8s.io/api/core/v1.Binding", warnings)?;
    let given = meta::text(&object, "name");
    if given != target.name {
        return Err(Status::bad_request("name in URL does not match name in Binding object"));
    }
    let key = names::key_of(entry, &target.namespace, &target.name)?;
    loop {
        let stored = core.store.get(entry.resource, &key);
        let stored = stored.ok_or_else(|| Status::not_found("", "pods", given))?;
        let mut pod = entry.tree(stored.body())?;
        for (what, field) in [("UID", "uid"), ("ResourceVersion", "resourceVersion")] {
            let (wanted, found) = (meta::text(&object, field), meta::text(&pod, field));
            if !wanted.is_empty() && wanted != found {
                return Err(precondition_failed(call.change(&options), what, wanted, found));
            }
        }
        let scope = core.scope(entry, &target.namespace, "binding", options.dry_run);
        bind(&scope, &mut pod, &object)?;
        let body = entry.encode(&pod);
        if options.dry_run || commit::put(core, entry, &key, Some(&stored), (&pod, &body)).is_ok() {
            break;
        }
    }
    let success = json!({ "metadata": {}, "status": "Success", "code": 201 });
    let content = Content::Other("v1", "Status", crate::http::response::status_type(), success);
    Ok(Outcome::new(201, content))
}

//! The parameters of writes: `CreateOptions`, `UpdateOptions`, `PatchOptions`, `DeleteOptions` of `meta/v1`.

use bytes::Bytes;
use http::HeaderMap;
use http::header::USER_AGENT;
use serde_json::{Value, json};

use super::decode;
use crate::codec::json::FieldValidation;
use crate::http::content_type;
use crate::http::query::Query;
use crate::kinds::{self, Errors, Path};
use crate::managed_fields::manager_of;
use crate::schema::Type;
use crate::status::Status;

const GROUP: &str = "meta.k8s.io";
const VALIDATIONS: &[&str] = &["", "Ignore", "Strict", "Warn"];

/// The parameters of a create, update or patch.
#[derive(Debug, Clone, Default)]
pub(crate) struct WriteOptions {
    pub(crate) dry_run: bool,
    /// As given; see [`manager`].
    pub(crate) field_manager: String,
    pub(crate) validation: FieldValidation,
    /// Of server-side apply.
    pub(crate) force: bool,
}

impl WriteOptions {
    /// Reads the parameters of `CreateOptions` or `UpdateOptions`.
    pub(crate) fn parse(query: &Query, kind: &str) -> Result<Self, Status> {
        Self::checked(query, kind, Errors::default())
    }

    /// Reads the parameters of a patch.
    pub(crate) fn of_patch(query: &Query, applies: bool) -> Result<Self, Status> {
        let mut errors = Errors::default();
        if applies {
            if query.text("fieldManager").is_empty() {
                errors.required(&Path::root("fieldManager"), "is required for apply patch");
            }
        } else if query.first("force").is_some() {
            errors.forbidden(&Path::root("force"), "may not be specified for non-apply patch");
        }
        Self::checked(query, "PatchOptions", errors)
    }

    fn checked(query: &Query, kind: &str, mut errors: Errors) -> Result<Self, Status> {
        let field_manager = query.text("fieldManager");
        kinds::field_manager(&field_manager, &Path::root("fieldManager"), &mut errors);
        let dry_run = query.all("dryRun");
        check_dry_run(&dry_run, &mut errors);
        let validation = query.text("fieldValidation");
        if !VALIDATIONS.contains(&validation.as_str()) {
            errors.not_supported(&Path::root("fieldValidation"), validation.as_str(), VALIDATIONS);
        }
        if !errors.is_empty() {
            return Err(errors.into_status(GROUP, kind, ""));
        }
        Ok(Self {
            dry_run: !dry_run.is_empty(),
            field_manager,
            validation: match validation.as_str() {
                "Ignore" => FieldValidation::Ignore,
                "Strict" => FieldValidation::Strict,
                _ => FieldValidation::Warn,
            },
            force: query.flag("force").unwrap_or_default(),
        })
    }
}

/// The name under which managed fields are recorded: the given one, or the program of the `User-Agent`.
pub(crate) fn manager(options: &WriteOptions, headers: &HeaderMap) -> String {
    let agent = headers.get(USER_AGENT).map(|value| String::from_utf8_lossy(value.as_bytes()));
    manager_of(&options.field_manager, agent.as_deref().unwrap_or_default())
}

/// The parameters of a deletion.
#[derive(Debug, Clone, Default)]
pub(crate) struct DeleteOptions {
    pub(crate) grace_period_seconds: Option<i64>,
    pub(crate) uid: Option<String>,
    pub(crate) resource_version: Option<String>,
    pub(crate) dry_run: bool,
}

impl DeleteOptions {
    /// Reads the body, or the query if there is no body.
    /// Errors: 400 and 415 for what cannot be read, 422 for a value that is not supported.
    pub(crate) fn parse(headers: &HeaderMap, query: &Query, body: &Bytes) -> Result<Self, Status> {
        let (options, dry_run) =
            if body.is_empty() { Self::of_query(query)? } else { Self::of_body(headers, body)? };
        let mut errors = Errors::default();
        check_dry_run(&dry_run, &mut errors);
        if errors.is_empty() { Ok(options) } else { Err(errors.into_status(GROUP, "DeleteOptions", "")) }
    }

    fn of_query(query: &Query) -> Result<(Self, Vec<String>), Status> {
        let some = |name| query.first(name).filter(|value| !value.is_empty()).map(str::to_owned);
        let dry_run = query.all("dryRun");
        let options = Self {
            grace_period_seconds: query.number("gracePeriodSeconds")?,
            uid: some("uid"),
            resource_version: some("resourceVersion"),
            dry_run: !dry_run.is_empty(),
        };
        Ok((options, dry_run))
    }

    fn of_body(headers: &HeaderMap, body: &Bytes) -> Result<(Self, Vec<String>), Status> {
        let format = content_type::format_of(headers)?;
        let type_ = Type::named("k8s.io/apimachinery/pkg/apis/meta/v1.DeleteOptions")
            .ok_or_else(|| Status::internal("no schema of DeleteOptions"))?;
        let tree = decode::options(format, body, type_)?;
        let text = |value: Option<&Value>| value.and_then(Value::as_str).map(str::to_owned);
        let preconditions = tree.get("preconditions");
        let precondition = |name| text(preconditions.and_then(|preconditions| preconditions.get(name)));
        let dry_run = tree.get("dryRun").and_then(Value::as_array).into_iter().flatten();
        let dry_run: Vec<String> = dry_run.filter_map(|value| text(Some(value))).collect();
        let options = Self {
            grace_period_seconds: tree.get("gracePeriodSeconds").and_then(Value::as_i64),
            uid: precondition("uid"),
            resource_version: precondition("resourceVersion"),
            dry_run: !dry_run.is_empty(),
        };
        Ok((options, dry_run))
    }
}

fn check_dry_run(values: &[String], errors: &mut Errors) {
    if values.iter().any(|value| value != "All") {
        errors.not_supported(&Path::root("dryRun"), json!(values), &["All"]);
    }
}

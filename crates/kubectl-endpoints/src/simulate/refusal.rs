//! The fields that a refusal of the API server is about.

use kube::core::Status;

/// The problem of one field; the path is empty if it is the whole object.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Problem {
    pub(crate) field: String,
    pub(crate) reason: String,
}

/// The problems that a refusal names: causes of a failed validation, unknown and repeated fields, values of a wrong type.
pub(crate) fn problems(status: &Status) -> Vec<Problem> {
    let causes = status.details.iter().flat_map(|details| &details.causes);
    let causes: Vec<Problem> = causes
        .filter(|cause| !cause.message.is_empty())
        .map(|cause| Problem { field: cause.field.clone(), reason: cause.message.clone() })
        .collect();
    if !causes.is_empty() {
        return causes;
    }
    of_message(&status.message)
}

/// The problems that a message names, of which there is at least one.
pub(crate) fn of_message(message: &str) -> Vec<Problem> {
    if let Some((_, list)) = message.split_once("strict decoding error: ") {
        let problems: Vec<Problem> = list.split(", ").filter_map(of_strict_decoding).collect();
        if !problems.is_empty() {
            return problems;
        }
    }
    let of_type = message.split_once("json: ").and_then(|(_, error)| of_wrong_type(error));
    vec![of_type.unwrap_or_else(|| Problem { field: String::new(), reason: message.to_owned() })]
}

/// `unknown field "spec.x"` or `duplicate field "spec.x"`.
fn of_strict_decoding(error: &str) -> Option<Problem> {
    let (reason, field) = error.split_once(" \"")?;
    let field = field.strip_suffix('"')?;
    Some(Problem { field: field.to_owned(), reason: reason.to_owned() })
}

/// `cannot unmarshal string into Go struct field ServicePort.spec.ports.port of type int32`.
fn of_wrong_type(error: &str) -> Option<Problem> {
    let (found, rest) = error.strip_prefix("cannot unmarshal ")?.split_once(" into Go struct field ")?;
    let (field, wanted) = rest.split_once(" of type ")?;
    let (_, field) = field.split_once('.')?;
    Some(Problem { field: field.to_owned(), reason: format!("must be of type {wanted}, not {found}") })
}

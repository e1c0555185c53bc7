//! Places in a body, and what can be wrong there.

use serde_json::Value;

use crate::codec::text::quote;
use crate::schema::Field;

/// A place in a body: a chain up to the root, on the stack of the decoder.
#[derive(Clone, Copy)]
pub(super) struct Place<'a> {
    pub(super) above: Option<&'a Place<'a>>,
    pub(super) step: Step<'a>,
}

/// The last step to a place.
#[derive(Clone, Copy)]
pub(super) enum Step<'a> {
    Root,
    /// A field, and the name of the struct that has it.
    Field(&'static str, &'static Field),
    Key(&'a str),
    Index(usize),
}

impl<'a> Place<'a> {
    pub(super) const ROOT: Self = Self { above: None, step: Step::Root };

    pub(super) fn then(&'a self, step: Step<'a>) -> Self {
        Self { above: Some(self), step }
    }

    fn steps(&self) -> Vec<Step<'a>> {
        let chain = std::iter::successors(Some(*self), |place| place.above.copied());
        let mut steps: Vec<_> = chain.map(|place| place.step).collect();
        steps.reverse();
        steps
    }

    /// The error of a value that does not fit `kind`, as `json.UnmarshalTypeError` prints it.
    pub(super) fn mismatch(&self, value: &str, kind: &str) -> String {
        let steps = self.steps();
        let mut path = Vec::new();
        let mut owner = None;
        for step in steps {
            if let Step::Field(of, field) = step {
                path.extend(field.embedded.iter().copied().chain([field.json]));
                owner = Some(of);
            }
        }
        match owner {
            Some(owner) => {
                let path = path.join(".");
                format!("json: cannot unmarshal {value} into Go struct field {owner}.{path} of type {kind}")
            }
            None => format!("json: cannot unmarshal {value} into Go value of type {kind}"),
        }
    }

    /// The words of strict decoding about an unknown member.
    pub(super) fn unknown(&self, member: &str) -> String {
        let mut path = String::new();
        for step in self.steps().into_iter().chain([Step::Key(member)]) {
            match step {
                Step::Root => {}
                Step::Index(index) => path.extend(["[", &index.to_string(), "]"]),
                Step::Key(name) | Step::Field(_, &Field { json: name, .. }) => {
                    if !path.is_empty() {
                        path.push('.');
                    }
                    path.push_str(name);
                }
            }
        }
        format!("unknown field {}", quote(&path))
    }
}

/// The type of a value in the words of `encoding/json`.
pub(super) fn json_type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

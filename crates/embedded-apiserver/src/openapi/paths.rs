//! The paths of a kind, with what clients look for: the kind, and the media types and query parameters of patches.

use serde_json::{Map, Value, json};

use crate::kinds::{Kind, Subresource};

use super::schemas::{model, reference};

const META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1";
const MEDIA_TYPES: &[&str] = &["application/json", "application/vnd.kubernetes.protobuf"];
const PATCH_TYPES: &[&str] = &[
    "application/apply-patch+yaml",
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
];

const PATCH_PARAMETERS: [(&str, &str); 4] =
    [("dryRun", "string"), ("fieldManager", "string"), ("fieldValidation", "string"), ("force", "boolean")];

/// Adds the paths of a kind below `prefix`, such as `/apis/apps/v1`.
pub(super) fn add(kind: &Kind, prefix: &str, paths: &mut Map<String, Value>) {
    let of_kind = Resource { group: kind.group, version: kind.version, kind: kind.kind };
    let namespace = if kind.namespaced { "/namespaces/{namespace}" } else { "" };
    let collection = format!("{prefix}{namespace}/{}", kind.plural);
    let item = format!("{collection}/{{name}}");
    for subresource in kind.subresources {
        let path = of_kind.of(subresource).path(subresource.verbs, Target::Item);
        paths.insert(format!("{item}/{}", subresource.name), path);
    }
    paths.insert(item, of_kind.path(kind.verbs, Target::Item));
    paths.insert(collection, of_kind.path(kind.verbs, Target::Collection));
    if kind.namespaced {
        paths.insert(format!("{prefix}/{}", kind.plural), of_kind.path(&["list"], Target::Collection));
    }
}

struct Resource {
    group: &'static str,
    version: &'static str,
    kind: &'static str,
}

#[derive(Clone, Copy)]
enum Target {
    /// One object.
    Item,
    /// The objects of a namespace, or all.
    Collection,
}

impl Resource {
    fn of(&self, subresource: &Subresource) -> Self {
        let (group, version) = subresource.group_version.unwrap_or((self.group, self.version));
        Self { group, version, kind: subresource.kind }
    }

    /// The operations that the verbs mean for this target.
    fn path(&self, verbs: &[&str], target: Target) -> Value {
        let mut path = Map::new();
        for verb in verbs {
            let (method, action) = match (*verb, target) {
                ("get", Target::Item) => ("get", "get"),
                ("update", Target::Item) => ("put", "put"),
                ("patch", Target::Item) => ("patch", "patch"),
                ("delete", Target::Item) => ("delete", "delete"),
                // Only subresources are created below an object.
                ("create", Target::Item) if verbs.len() == 1 => ("post", "connect"),
                ("create", Target::Collection) => ("post", "post"),
                ("list", Target::Collection) => ("get", "list"),
                _ => continue,
            };
            path.insert(method.to_owned(), self.operation(method, action));
        }
        Value::Object(path)
    }

    fn operation(&self, method: &str, action: &str) -> Value {
        let of_kind = |kind: &str| model(self.group, self.version, kind).map_or_else(|| json!({}), reference);
        let answer = match action {
            "list" => of_kind(&format!("{}List", self.kind)),
            "delete" => reference(&format!("{META}.Status")),
            _ => of_kind(self.kind),
        };
        let body = match method {
            "post" | "put" => Some(content(&["*/*"], &of_kind(self.kind))),
            "patch" => Some(content(PATCH_TYPES, &reference(&format!("{META}.Patch")))),
            "delete" => Some(content(&["*/*"], &reference(&format!("{META}.DeleteOptions")))),
            _ => None,
        };
        let mut operation = json!({
            "responses": {"200": {"description": "OK", "content": content(MEDIA_TYPES, &answer)}},
            "x-kubernetes-action": action,
            "x-kubernetes-group-version-kind": {"group": self.group, "version": self.version, "kind": self.kind},
        });
        if let (Some(content), Some(fields)) = (body, operation.as_object_mut()) {
            fields.insert(
                "requestBody".to_owned(),
                json!({"content": content, "required": method != "delete"}),
            );
            if method == "patch" {
                let parameters = PATCH_PARAMETERS.into_iter().map(query_parameter).collect();
                fields.insert("parameters".to_owned(), parameters);
            }
        }
        operation
    }
}

fn content(media_types: &[&str], schema: &Value) -> Value {
    let entries = media_types.iter().map(|media_type| ((*media_type).to_owned(), json!({"schema": schema})));
    Value::Object(entries.collect())
}

fn query_parameter((name, of_type): (&str, &str)) -> Value {
    json!({"name": name, "in": "query", "schema": {"type": of_type, "uniqueItems": true}})
}

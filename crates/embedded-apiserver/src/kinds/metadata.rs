//! Rules of `metadata` that all kinds share: `k8s.io/apiserver/pkg/registry/rest` and
//! `k8s.io/apimachinery/pkg/api/validation`.

use serde_json::Value;

use crate::environment::Environment;
use crate::status::Status;

use super::content::{self, NameRule};
use super::field::{Errors, Path};
use super::go;
use super::strategy::{Kind, Scope};
use super::tree;

const META: Path<'static> = Path::root("metadata");
/// Bytes of all keys and values of `metadata.annotations` together.
const ANNOTATIONS_LIMIT: usize = 256 << 10;
/// Generated names are cut so that they fit a DNS label.
const GENERATED_BASE: usize = 63 - 5;
/// No vowels, so that no words come out.
const ALPHABET: &[u8; 27] = b"bcdfghjklmnpqrstvwxz2456789";

/// Removes what clients cannot set when they create an object (`WipeObjectMetaSystemFields`).
pub(super) fn wipe(object: &mut Value) {
    let meta = tree::field_mut(object, "metadata");
    for key in ["deletionTimestamp", "deletionGracePeriodSeconds", "selfLink"] {
        tree::remove(meta, key);
    }
}

/// Fills what the server sets at creation, and the generated name.
pub(super) fn fill(scope: &Scope<'_>, object: &mut Value) {
    let meta = tree::field_mut(object, "metadata");
    drop_self_link(scope, meta);
    tree::set(meta, "creationTimestamp", timestamp(scope.environment.now()));
    tree::set(meta, "uid", uid(scope.environment));
    let base = tree::text(meta, "generateName");
    if tree::text(meta, "name").is_empty() && !base.is_empty() {
        let name = generated_name(scope.environment, base);
        tree::set(meta, "name", name);
    }
}

/// No object is stored with it. A dry run stores nothing and shows it.
fn drop_self_link(scope: &Scope<'_>, meta: &mut Value) {
    if !scope.dry_run {
        tree::remove(meta, "selfLink");
    }
}

/// The time as `metav1.Time` prints it: whole seconds.
pub(crate) fn timestamp(time: jiff::Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// A random uid, version 4 of RFC 9562.
fn uid(environment: &dyn Environment) -> String {
    let high = (environment.random() & !0xf000) | 0x4000;
    let low = (environment.random() & !(0b11 << 62)) | (0b10 << 62);
    format!(
        "{:08x}-{:04x}-{:04x}-{:04x}-{:012x}",
        high >> 32,
        (high >> 16) & 0xffff,
        high & 0xffff,
        low >> 48,
        low & 0xffff_ffff_ffff
    )
}

/// The base and five random characters (`SimpleNameGenerator`).
fn generated_name(environment: &dyn Environment, base: &str) -> String {
    let end = (0..=GENERATED_BASE.min(base.len())).rev().find(|end| base.is_char_boundary(*end)).unwrap_or(0);
    let mut name = base.get(..end).unwrap_or_default().to_owned();
    let mut random = environment.random();
    for _ in 0..5 {
        let letter = usize::try_from(random % 27).ok().and_then(|index| ALPHABET.get(index));
        name.push(char::from(letter.copied().unwrap_or(b'x')));
        random /= 27;
    }
    name
}

/// Makes the namespace of the object that of the path.
/// Errors: 400 if it has another one.
pub(crate) fn fit_namespace(kind: &Kind, namespace: &str, object: &mut Value) -> Result<(), Status> {
    let wanted = if kind.namespaced { namespace } else { "" };
    let given = tree::text(tree::field(object, "metadata"), "namespace");
    if given == wanted {
        return Ok(());
    }
    if !wanted.is_empty() && !given.is_empty() {
        return Err(Status::bad_request(
            "the namespace of the provided object does not match the namespace sent on the request",
        ));
    }
    let meta = tree::field_mut(object, "metadata");
    if wanted.is_empty() {
        tree::remove(meta, "namespace");
    } else {
        tree::set(meta, "namespace", wanted);
    }
    Ok(())
}

/// Takes over what an update may leave out or must not change.
pub(super) fn restore(scope: &Scope<'_>, object: &mut Value, old: &Value) {
    let before = tree::field(old, "metadata");
    let meta = tree::field_mut(object, "metadata");
    drop_self_link(scope, meta);
    if tree::text(meta, "uid").is_empty() {
        tree::copy(meta, "uid", before);
    }
    for key in ["creationTimestamp", "deletionTimestamp"] {
        if tree::has(before, key) {
            tree::copy(meta, key, before);
        }
    }
    if tree::has(before, "deletionGracePeriodSeconds") && !tree::has(meta, "deletionGracePeriodSeconds") {
        tree::copy(meta, "deletionGracePeriodSeconds", before);
    }
}

/// The generation; 0 if the kind has none.
pub(super) fn generation(object: &Value) -> i64 {
    tree::int(tree::field(object, "metadata"), "generation")
}

/// Sets the generation. Zero is absent.
pub(super) fn set_generation(object: &mut Value, generation: i64) {
    let meta = tree::field_mut(object, "metadata");
    if generation == 0 {
        tree::remove(meta, "generation");
    } else {
        tree::set(meta, "generation", generation);
    }
}

/// Sets the generation that follows this one. As in Go, the number after the last one is the first one.
pub(crate) fn next_generation(object: &mut Value, generation: i64) {
    set_generation(object, generation.wrapping_add(1));
}

/// `ValidateObjectMeta` of Kubernetes' own kinds: finalizers without a domain must be known.
pub(super) fn validate_own(object: &Value, namespaced: bool, rule: NameRule, errors: &mut Errors) {
    validate(object, namespaced, rule, errors);
    known_finalizers(object, errors);
}

/// `ValidateObjectMetaUpdate` of Kubernetes' own kinds.
pub(super) fn validate_own_update(object: &Value, old: &Value, errors: &mut Errors) {
    validate_update(object, old, errors);
    known_finalizers(object, errors);
}

/// `validateKubeFinalizerName`.
fn known_finalizers(object: &Value, errors: &mut Errors) {
    let path = META.child("finalizers");
    for (index, finalizer) in
        tree::texts(tree::field(object, "metadata"), "finalizers").into_iter().enumerate()
    {
        if !finalizer.contains('/') && !matches!(finalizer, "kubernetes" | "orphan" | "foregroundDeletion") {
            let detail = "name is neither a standard finalizer name nor is it fully qualified";
            errors.invalid(&path.index(index), finalizer, detail);
        }
    }
}

/// `ValidateObjectMetaAccessor`.
pub(super) fn validate(object: &Value, namespaced: bool, rule: NameRule, errors: &mut Errors) {
    let meta = tree::field(object, "metadata");
    let base = tree::text(meta, "generateName");
    if !base.is_empty() {
        errors.invalid_each(&META.child("generateName"), base, &rule(base, true));
    }
    let name = tree::text(meta, "name");
    if name.is_empty() {
        errors.required(&META.child("name"), "name or generateName is required");
    } else {
        errors.invalid_each(&META.child("name"), name, &rule(name, false));
    }
    let namespace = tree::text(meta, "namespace");
    let path = META.child("namespace");
    match (namespaced, namespace.is_empty()) {
        (true, true) => errors.required(&path, ""),
        (true, false) => errors.invalid_each(&path, namespace, &content::label_name(namespace, false)),
        (false, true) => {}
        (false, false) => errors.forbidden(&path, "not allowed on this type"),
    }
    nonnegative(tree::int(meta, "generation"), &META.child("generation"), errors);
    labels(tree::field(meta, "labels"), &META.child("labels"), errors);
    annotations(tree::field(meta, "annotations"), &META.child("annotations"), errors);
    owners(meta, errors);
    finalizers(meta, errors);
}

/// `ValidateObjectMetaAccessorUpdate`.
pub(super) fn validate_update(object: &Value, old: &Value, errors: &mut Errors) {
    let (meta, before) = (tree::field(object, "metadata"), tree::field(old, "metadata"));
    if tree::has(before, "deletionTimestamp") {
        let known = tree::texts(before, "finalizers");
        let mut extra: Vec<&str> = tree::texts(meta, "finalizers");
        extra.retain(|finalizer| !known.contains(finalizer));
        extra.sort_unstable();
        extra.dedup();
        if !extra.is_empty() {
            let extra: Vec<_> = extra.into_iter().map(go::quote).collect();
            let extra = extra.join(", ");
            errors.forbidden(
                &META.child("finalizers"),
                &format!(
                    "no new finalizers can be added if the object is being deleted, found new finalizers []string{{{extra}}}"
                ),
            );
        }
    }
    if tree::text(meta, "resourceVersion").is_empty() {
        errors.invalid(&META.child("resourceVersion"), "", "must be specified for an update");
    }
    if generation(object) < generation(old) {
        errors.invalid(&META.child("generation"), generation(object), "must not be decremented");
    }
    for key in
        ["name", "namespace", "uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds"]
    {
        immutable(tree::field(meta, key), tree::field(before, key), &META.child(key), errors);
    }
    labels(tree::field(meta, "labels"), &META.child("labels"), errors);
    annotations(tree::field(meta, "annotations"), &META.child("annotations"), errors);
    owners(meta, errors);
}

/// `ValidateImmutableField`.
fn immutable(new: &Value, old: &Value, path: &Path<'_>, errors: &mut Errors) {
    if !tree::same(new, old) {
        errors.invalid(path, new, "field is immutable");
    }
}

/// `ValidateNonnegativeField`.
fn nonnegative(number: i64, path: &Path<'_>, errors: &mut Errors) {
    if number < 0 {
        errors.invalid(path, number, "must be greater than or equal to 0");
    }
}

/// `ValidateLabels`.
pub(super) fn labels(labels: &Value, path: &Path<'_>, errors: &mut Errors) {
    for (key, value) in labels.as_object().into_iter().flatten() {
        errors.invalid_each(path, key, &content::qualified_name(key));
        let value = value.as_str().unwrap_or_default();
        errors.invalid_each(path, value, &content::label_value(value));
    }
}

/// `ValidateAnnotations`: keys are label keys in any case.
pub(super) fn annotations(annotations: &Value, path: &Path<'_>, errors: &mut Errors) {
    let mut size = 0;
    for (key, value) in annotations.as_object().into_iter().flatten() {
        errors.invalid_each(path, key, &content::qualified_name(&key.to_lowercase()));
        size += key.len() + value.as_str().map_or(0, str::len);
    }
    if size > ANNOTATIONS_LIMIT {
        errors.too_long(path, ANNOTATIONS_LIMIT);
    }
}

fn owners(meta: &Value, errors: &mut Errors) {
    let list = META.child("ownerReferences");
    for (index, owner) in tree::list(meta, "ownerReferences").iter().enumerate() {
        let path = list.index(index);
        let version = tree::text(owner, "apiVersion");
        if version.ends_with('/') || version.matches('/').count() > 1 {
            errors.invalid(&path.child("apiVersion"), version, "must be <group>/<version> or <version>");
        }
        for key in ["apiVersion", "kind", "name", "uid"] {
            if tree::text(owner, key).is_empty() {
                errors.required(&path.child(key), "must not be empty");
            }
        }
    }
}

fn finalizers(meta: &Value, errors: &mut Errors) {
    let path = META.child("finalizers");
    let finalizers = tree::texts(meta, "finalizers");
    for finalizer in &finalizers {
        errors.invalid_each(&path, finalizer, &content::qualified_name(finalizer));
    }
    if finalizers.contains(&"orphan") && finalizers.contains(&"foregroundDeletion") {
        let all = tree::field(meta, "finalizers");
        errors.invalid(&path, all, "finalizer orphan and foregroundDeletion cannot be both set");
    }
}

/// `ValidateFieldManager`.
pub(crate) fn field_manager(manager: &str, path: &Path<'_>, errors: &mut Errors) {
    if manager.len() > 128 {
        errors.too_long(path, 128);
    }
    for (index, c) in manager.char_indices().filter(|(_, c)| !go::is_printable(*c)) {
        let detail = format!("invalid character U+{:04X} (at position {index})", c as u32);
        errors.invalid(path, manager, &detail);
    }
}

/// Sets an entry of `metadata.labels`.
pub(super) fn set_label(object: &mut Value, key: &str, value: &str) {
    let labels = tree::field_mut(tree::field_mut(object, "metadata"), "labels");
    tree::set(labels, key, value);
}

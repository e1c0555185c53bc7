//! References to images, as far as the default of `imagePullPolicy` needs them: `pkg/util/parsers`.

/// True if the tag of the reference is `latest`, named or implied.
pub(super) fn is_latest(reference: &str) -> bool {
    let (name, digest) = match reference.split_once('@') {
        Some((name, digest)) => (name, Some(digest)),
        None => (reference, None),
    };
    // A colon after the last slash begins the tag; one before it begins a port.
    let last = name.rsplit('/').next().unwrap_or_default();
    match last.split_once(':') {
        Some((_, tag)) => tag == "latest",
        None => digest.is_none(),
    }
}

//! References to images, as far as the default of `imagePullPolicy` needs them: `pkg/util/parsers`.

/// True if the tag of the reference is `latest`, named or implied. An invalid reference has no tag.
pub(super) fn is_latest(reference: &str) -> bool {
    let (name, digest) = match reference.split_once('@') {
        Some((name, digest)) => (name, Some(digest)),
        None => (reference, None),
    };
    // A colon after the last slash begins the tag; one before it begins a port.
    let slash = name.rfind('/').map_or(0, |index| index + 1);
    let (repository, tag) = match name.get(slash..).and_then(|last| last.find(':')) {
        Some(colon) => {
            let (repository, tag) = name.split_at(slash + colon);
            (repository, tag.strip_prefix(':'))
        }
        None => (name, None),
    };
    let is_valid = is_repository(repository)
        && tag.is_none_or(is_tag)
        && digest.is_none_or(|digest| digest.contains(':'));
    is_valid && (tag == Some("latest") || (tag.is_none() && digest.is_none()))
}

/// Components of lower case letters and digits, with single separators inside; the first may be a host with a port.
fn is_repository(repository: &str) -> bool {
    let (host, path) = match repository.split_once('/') {
        Some((host, path))
            if host.contains(['.', ':']) || host == "localhost" || host.to_lowercase() != host =>
        {
            (Some(host), path)
        }
        _ => (None, repository),
    };
    let is_host = |host: &str| host.bytes().all(|b| b.is_ascii_alphanumeric() || b".-:[]".contains(&b));
    // 64 hexadecimal digits are an identifier, not a name.
    let is_identifier =
        path.len() == 64 && path.bytes().all(|b| b.is_ascii_hexdigit() && !b.is_ascii_uppercase());
    host.is_none_or(is_host) && path.split('/').all(is_component) && (host.is_some() || !is_identifier)
}

fn is_component(component: &str) -> bool {
    let is_letter = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    let bytes = component.as_bytes();
    let has_good_ends =
        bytes.first().is_some_and(|b| is_letter(*b)) && bytes.last().is_some_and(|b| is_letter(*b));
    has_good_ends
        && component.split(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit()).all(|separator| {
            matches!(separator, "" | "." | "_" | "__") || separator.bytes().all(|b| b == b'-')
        })
}

fn is_tag(tag: &str) -> bool {
    let is_word = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
    tag.len() <= 128
        && tag.bytes().next().is_some_and(is_word)
        && tag.bytes().all(|b| is_word(b) || matches!(b, b'.' | b'-'))
}

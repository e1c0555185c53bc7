//! `-l`: labels as kubectl selects by them.

use std::collections::BTreeMap;

/// Requirements that all hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct LabelSelector(Vec<Requirement>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Requirement {
    key: String,
    wanted: Wanted,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Wanted {
    Present,
    Absent,
    /// One of these values.
    In(Vec<String>),
    /// None of these values, or no such label.
    NotIn(Vec<String>),
}

impl LabelSelector {
    /// True if labels meet all requirements.
    pub(crate) fn selects(&self, labels: Option<&BTreeMap<String, String>>) -> bool {
        self.0.iter().all(|Requirement { key, wanted }| {
            let value = labels.and_then(|labels| labels.get(key));
            match wanted {
                Wanted::Present => value.is_some(),
                Wanted::Absent => value.is_none(),
                Wanted::In(values) => value.is_some_and(|value| values.contains(value)),
                Wanted::NotIn(values) => value.is_none_or(|value| !values.contains(value)),
            }
        })
    }
}

/// Reads a selector: `key=value`, `key!=value`, `key in (a, b)`, `key notin (a, b)`, `key` and `!key`, separated by commas.
///
/// # Errors
/// The part that is none of these.
pub(crate) fn label_selector(text: &str) -> Result<LabelSelector, String> {
    parts(text).map(requirement).collect::<Result<_, _>>().map(LabelSelector)
}

/// The parts between commas that are not in parentheses.
fn parts(text: &str) -> impl Iterator<Item = &str> {
    let mut depth = 0_i32;
    text.split(move |character| {
        depth += i32::from(character == '(') - i32::from(character == ')');
        character == ',' && depth == 0
    })
    .map(str::trim)
}

fn requirement(part: &str) -> Result<Requirement, String> {
    let (key, wanted) = if let Some(key) = part.strip_prefix('!') {
        (key, Wanted::Absent)
    } else if let Some((key, value)) = part.split_once("!=") {
        (key, Wanted::NotIn(vec![value.trim().to_owned()]))
    } else if let Some((key, value)) = part.split_once("==").or_else(|| part.split_once('=')) {
        (key, Wanted::In(vec![value.trim().to_owned()]))
    } else if let Some((key, list)) = part.split_once(" notin ") {
        (key, Wanted::NotIn(values(list, part)?))
    } else if let Some((key, list)) = part.split_once(" in ") {
        (key, Wanted::In(values(list, part)?))
    } else {
        (part, Wanted::Present)
    };
    let key = key.trim();
    let is_key = |key: &str| {
        !key.is_empty() && key.chars().all(|it| it.is_ascii_alphanumeric() || "-_./".contains(it))
    };
    if is_key(key) { Ok(Requirement { key: key.to_owned(), wanted }) } else { Err(invalid(part)) }
}

/// The values in `(a, b)`.
fn values(list: &str, part: &str) -> Result<Vec<String>, String> {
    let inner = list.trim().strip_prefix('(').and_then(|list| list.strip_suffix(')'));
    let values = inner.ok_or_else(|| invalid(part))?.split(',');
    Ok(values.map(|value| value.trim().to_owned()).collect())
}

fn invalid(part: &str) -> String {
    format!("{part:?} is not a requirement such as app=web, tier!=test, app in (a, b), app or !app")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn selects(text: &str, labels: &[(&str, &str)]) -> bool {
        let labels = labels.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        label_selector(text).unwrap().selects(Some(&labels))
    }

    #[test]
    fn each_operator_is_kubectls() {
        let web = [("app", "web"), ("example.com/tier", "front")];
        for text in [
            "app=web",
            "app==web,example.com/tier",
            "app!=api",
            "other!=x",
            "app in (api, web)",
            "app notin (api,db), !other",
            "other notin (x)",
        ] {
            assert!(selects(text, &web), "{text}");
        }
        for text in
            ["app=api", "app!=web", "!app", "other", "app in (api)", "app=web,other=x", "app notin (web)"]
        {
            assert!(!selects(text, &web), "{text}");
        }
        assert!(
            label_selector("!app").unwrap().selects(None) && !label_selector("app").unwrap().selects(None)
        );
    }

    #[test]
    fn what_is_no_requirement_is_named() {
        for text in ["", "a b", "app in web", "=x", "app=web,,x"] {
            assert!(label_selector(text).unwrap_err().contains("is not a requirement"), "{text}");
        }
    }
}

//! The syntax of `--feature-gates`: `[kube:]Name=bool`, several with commas.

use go_text::strconv::parse_bool;

use super::version::COMPONENT;

/// Gates and their values, in order; for a gate that is named twice, the last value.
pub(super) fn parse(values: &[String]) -> Result<Vec<(String, bool)>, String> {
    let mut assignments: Vec<(String, bool)> = Vec::new();
    for text in unprefixed(values)? {
        let (name, on) = assignment(text)?;
        match assignments.iter_mut().find(|(known, _)| *known == name) {
            Some((_, value)) => *value = on,
            None => assignments.push((name, on)),
        }
    }
    Ok(assignments)
}

fn assignment(text: &str) -> Result<(String, bool), String> {
    let (name, value) =
        text.split_once('=').ok_or_else(|| format!("missing bool value for {}", text.trim()))?;
    let (name, value) = (name.trim(), value.trim());
    match parse_bool(value) {
        Ok(on) => Ok((name.to_owned(), on)),
        Err(error) => Err(format!("invalid value of {name}={value}, err: {error}")),
    }
}

/// The values of the flag as upstream shows them, each gate with a component before it, possibly the empty one
/// (`k8s.io/component-base` `cli/flag/colon_separated_multimap_string_string.go`).
pub(crate) fn shown(values: &[&str]) -> String {
    let mut pairs: Vec<_> = pairs(values.iter().copied()).collect();
    pairs.sort_by_key(|(component, _)| *component);
    let pairs: Vec<String> = pairs.iter().map(|(component, text)| format!("{component}:{text}")).collect();
    pairs.join(",")
}

/// Components and the texts after them.
fn pairs<'a>(values: impl Iterator<Item = &'a str>) -> impl Iterator<Item = (&'a str, &'a str)> {
    values
        .flat_map(|value| value.split(','))
        .filter(|pair| !pair.is_empty())
        .map(|pair| pair.split_once(':').unwrap_or(("", pair)))
        .map(|(component, text)| (component.trim(), text.trim()))
}

/// Removes the component, which all gates or none must have.
fn unprefixed(values: &[String]) -> Result<Vec<&str>, String> {
    let pairs: Vec<(&str, &str)> = pairs(values.iter().map(String::as_str)).collect();
    let named = |wanted: &str| pairs.iter().any(|(component, _)| *component == wanted);
    if named("") && named(COMPONENT) {
        return Err("set kube feature gates with default empty prefix or kube: prefix consistently, \
                    do not mix use"
            .to_owned());
    }
    let known = ["", COMPONENT];
    match pairs.iter().find(|(component, _)| !known.contains(component)) {
        Some((component, _)) => Err(format!("component not registered: {component}")),
        None => Ok(pairs.into_iter().map(|(_, text)| text).filter(|text| !text.is_empty()).collect()),
    }
}

//! Parameters of requests.

use jiff::Timestamp;

use crate::view::Span;

/// The value of a parameter.
pub(crate) fn value(query: &str, name: &str) -> Option<String> {
    let mut pairs = form_urlencoded::parse(query.as_bytes());
    pairs.find(|(key, _)| key == name).map(|(_, value)| value.into_owned())
}

/// The span that `since`, `until` and `namespace` name; all of it without them. None if a time is none.
pub(crate) fn span(query: &str) -> Option<Span> {
    let time = |name: &str, default: Timestamp| match value(query, name) {
        None => Some(default),
        Some(text) => Timestamp::from_millisecond(text.parse().ok()?).ok(),
    };
    let (since, until) = (time("since", Timestamp::MIN)?, time("until", Timestamp::MAX)?);
    Some(Span {
        since,
        until,
        namespace: value(query, "namespace").filter(|namespace| !namespace.is_empty()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_decoded() {
        assert_eq!(value("q=app%3Dweb+x&b=1", "q").as_deref(), Some("app=web x"));
        assert_eq!((value("q=%ff", "q").as_deref(), value("b=1", "q")), (Some("\u{fffd}"), None));
        let span = super::span("since=1000&namespace=shop").unwrap();
        assert_eq!(
            (span.since.as_second(), span.until, span.namespace.as_deref()),
            (1, Timestamp::MAX, Some("shop"))
        );
        assert_eq!(super::span("since=x"), None);
        assert_eq!(super::span("until=99999999999999999999"), None);
        assert_eq!(super::span("namespace=").and_then(|span| span.namespace), None);
    }
}

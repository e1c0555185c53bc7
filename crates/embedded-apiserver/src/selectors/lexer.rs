//! The tokens of label selectors, as `k8s.io/apimachinery pkg/labels` cuts them.

/// A token and its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Item {
    pub(super) token: Token,
    pub(super) text: String,
}

/// The kind of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Token {
    Error,
    End,
    Close,
    Comma,
    Not,
    DoubleEquals,
    Equals,
    Greater,
    Identifier,
    In,
    Less,
    NotEquals,
    NotIn,
    Open,
}

/// Cuts a selector into tokens. The last one is [`Token::End`].
pub(super) fn tokens(selector: &str) -> Vec<Item> {
    // The reference reads bytes and takes a zero byte for the end.
    let mut rest = selector.split('\0').next().unwrap_or_default();
    let mut items = Vec::new();
    loop {
        rest = rest.trim_start_matches(is_space);
        let (token, length) = match rest.chars().next() {
            None => break,
            Some(first) if is_symbol(first) => symbol(rest),
            Some(_) => word(rest),
        };
        let (text, after) = rest.split_at_checked(length).unwrap_or((rest, ""));
        let text = if token == Token::Error {
            format!("error expected: keyword found '{text}'")
        } else {
            text.to_owned()
        };
        items.push(Item { token, text });
        rest = after;
    }
    items.push(Item { token: Token::End, text: String::new() });
    items
}

fn is_space(character: char) -> bool {
    matches!(character, ' ' | '\t' | '\r' | '\n')
}

fn is_symbol(character: char) -> bool {
    matches!(character, '=' | '!' | '(' | ')' | ',' | '>' | '<')
}

fn word(rest: &str) -> (Token, usize) {
    let length = rest.find(|character| is_symbol(character) || is_space(character)).unwrap_or(rest.len());
    let token = match rest.get(..length) {
        Some("in") => Token::In,
        Some("notin") => Token::NotIn,
        _ => Token::Identifier,
    };
    (token, length)
}

/// The longest operator. Each single symbol is one, so there is no error here.
fn symbol(rest: &str) -> (Token, usize) {
    let two = rest.get(..2).unwrap_or_default();
    match two {
        "==" => return (Token::DoubleEquals, 2),
        "!=" => return (Token::NotEquals, 2),
        _ => {}
    }
    let token = match rest.chars().next() {
        Some(')') => Token::Close,
        Some(',') => Token::Comma,
        Some('!') => Token::Not,
        Some('=') => Token::Equals,
        Some('>') => Token::Greater,
        Some('<') => Token::Less,
        Some('(') => Token::Open,
        _ => Token::Error,
    };
    (token, 1)
}

//! Label selectors: `Parse` of `k8s.io/apimachinery pkg/labels`.

use std::collections::{BTreeMap, BTreeSet};

use super::lexer::{Item, Token, tokens};
use super::scan::label;
use crate::go_quote::quote as go_quote;
use crate::kinds::content;

/// A label selector, as kubectl's `-l` and the parameter `labelSelector` of lists have it: `app=web`, `tier!=test`,
/// `app in (web, api)`, `app`, `!app`, `shard>3`, separated by commas. All of its requirements must hold; without any it selects
/// everything.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LabelSelector {
    requirements: Vec<Requirement>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Requirement {
    key: String,
    operator: Operator,
    values: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operator {
    In,
    NotIn,
    Exists,
    DoesNotExist,
    GreaterThan,
    LessThan,
}

impl LabelSelector {
    /// Parses a selector.
    ///
    /// # Errors
    /// The message of the API server.
    pub fn parse(selector: &str) -> Result<Self, String> {
        let requirements = Parser { items: tokens(selector), position: 0 }.requirements()?;
        Ok(Self { requirements })
    }

    /// True if it selects everything.
    pub(crate) fn is_empty(&self) -> bool {
        self.requirements.is_empty()
    }

    /// True if an object with this `ObjectMeta` is selected.
    pub(crate) fn matches(&self, metadata: &[u8]) -> bool {
        self.requirements.iter().all(|it| it.matches(label(metadata, it.key.as_bytes())))
    }

    /// True if an object with these labels is selected.
    pub fn selects(&self, labels: &BTreeMap<String, String>) -> bool {
        self.requirements.iter().all(|it| it.matches(labels.get(&it.key).map(String::as_bytes)))
    }
}

impl Requirement {
    /// True if the label may have this value, or may be absent.
    fn matches(&self, value: Option<&[u8]>) -> bool {
        match self.operator {
            Operator::In => value.is_some_and(|value| self.has(value)),
            Operator::NotIn => value.is_none_or(|value| !self.has(value)),
            Operator::Exists => value.is_some(),
            Operator::DoesNotExist => value.is_none(),
            Operator::GreaterThan => self.compare(value).is_some_and(|(value, bound)| value > bound),
            Operator::LessThan => self.compare(value).is_some_and(|(value, bound)| value < bound),
        }
    }

    fn has(&self, value: &[u8]) -> bool {
        self.values.iter().any(|wanted| wanted.as_bytes() == value)
    }

    fn compare(&self, value: Option<&[u8]>) -> Option<(i64, i64)> {
        let value = std::str::from_utf8(value?).ok()?.parse().ok()?;
        Some((value, self.values.first()?.parse().ok()?))
    }

    fn new(key: String, operator: Operator, values: Vec<String>) -> Result<Self, String> {
        let mut errors = Vec::new();
        if matches!(operator, Operator::GreaterThan | Operator::LessThan) {
            for (index, value) in values.iter().enumerate() {
                if value.parse::<i64>().is_err() {
                    let quoted = go_quote(value);
                    errors.push(format!(
                        "values[{index}]: Invalid value: {quoted}: for 'Gt', 'Lt' operators, the value must be an integer"
                    ));
                }
            }
        }
        for (index, value) in values.iter().enumerate() {
            let wrong = content::label_value(value);
            if !wrong.is_empty() {
                let (quoted, wrong) = (go_quote(value), wrong.join("; "));
                errors.push(format!("values[{index}][{key}]: Invalid value: {quoted}: {wrong}"));
            }
        }
        match errors.as_slice() {
            [] => Ok(Self { key, operator, values }),
            [error] => Err(error.clone()),
            errors => Err(format!("[{}]", errors.join(", "))),
        }
    }
}

/// A recursive descent parser of a list of tokens.
struct Parser {
    items: Vec<Item>,
    position: usize,
}

impl Parser {
    fn requirements(mut self) -> Result<Vec<Requirement>, String> {
        let mut requirements = Vec::new();
        loop {
            let (token, text) = self.peek();
            match token {
                Token::End => return Ok(requirements),
                Token::Identifier | Token::Not => {}
                _ => return Err(format!("found '{text}', expected: !, identifier, or 'end of string'")),
            }
            let requirement =
                self.requirement().map_err(|error| format!("unable to parse requirement: {error}"))?;
            requirements.push(requirement);
            match self.next() {
                (Token::End, _) => return Ok(requirements),
                (Token::Comma, _) => {
                    let (token, text) = self.peek();
                    if !matches!(token, Token::Identifier | Token::Not) {
                        return Err(format!("found '{text}', expected: identifier after ','"));
                    }
                }
                (_, text) => return Err(format!("found '{text}', expected: ',' or 'end of string'")),
            }
        }
    }

    fn requirement(&mut self) -> Result<Requirement, String> {
        let (mut token, mut key) = self.next();
        let negated = token == Token::Not;
        if negated {
            (token, key) = self.next();
        }
        if token != Token::Identifier {
            return Err(format!("found '{key}', expected: identifier"));
        }
        let wrong = content::qualified_name(&key);
        if !wrong.is_empty() {
            // The reference names no field here.
            return Err(format!("<nil>: Invalid value: {}: {}", go_quote(&key), wrong.join("; ")));
        }
        if negated {
            return Requirement::new(key, Operator::DoesNotExist, Vec::new());
        }
        if matches!(self.peek().0, Token::End | Token::Comma) {
            return Requirement::new(key, Operator::Exists, Vec::new());
        }
        let (operator, is_set) = self.operator()?;
        let values = if is_set { self.values()? } else { self.value()? };
        Requirement::new(key, operator, values.into_iter().collect())
    }

    /// The operator, and whether a set of values follows.
    fn operator(&mut self) -> Result<(Operator, bool), String> {
        let item = self.take();
        match item.token {
            Token::In => Ok((Operator::In, true)),
            Token::NotIn => Ok((Operator::NotIn, true)),
            Token::Equals | Token::DoubleEquals => Ok((Operator::In, false)),
            Token::NotEquals => Ok((Operator::NotIn, false)),
            Token::Greater => Ok((Operator::GreaterThan, false)),
            Token::Less => Ok((Operator::LessThan, false)),
            _ => Err(format!("found '{}', expected: in, notin, =, ==, !=, gt, lt", item.text)),
        }
    }

    fn value(&mut self) -> Result<BTreeSet<String>, String> {
        if matches!(self.peek().0, Token::End | Token::Comma) {
            return Ok(BTreeSet::from([String::new()]));
        }
        match self.next() {
            (Token::Identifier, text) => Ok(BTreeSet::from([text])),
            (_, text) => Err(format!("found '{text}', expected: identifier")),
        }
    }

    fn values(&mut self) -> Result<BTreeSet<String>, String> {
        let (token, text) = self.next();
        if token != Token::Open {
            return Err(format!("found '{text}' expected: '('"));
        }
        let (token, text) = self.peek();
        match token {
            Token::Identifier | Token::Comma => {
                let values = self.list()?;
                self.next();
                Ok(values)
            }
            Token::Close => {
                self.next();
                Ok(BTreeSet::from([String::new()]))
            }
            _ => Err(format!("found '{text}', expected: ',', ')' or identifier")),
        }
    }

    /// The values up to the closing parenthesis. A missing value is the empty one.
    fn list(&mut self) -> Result<BTreeSet<String>, String> {
        let mut values = BTreeSet::new();
        loop {
            match self.next() {
                (Token::Identifier, text) => {
                    values.insert(text);
                    let (token, text) = self.peek();
                    match token {
                        Token::Comma => {}
                        Token::Close => return Ok(values),
                        _ => return Err(format!("found '{text}', expected: ',' or ')'")),
                    }
                }
                (Token::Comma, _) => {
                    let next = self.peek().0;
                    if values.is_empty() || matches!(next, Token::Close | Token::Comma) {
                        values.insert(String::new());
                    }
                    if next == Token::Close {
                        return Ok(values);
                    }
                }
                (_, text) => return Err(format!("found '{text}', expected: ',', or identifier")),
            }
        }
    }

    /// The next token where `in` and `notin` are ordinary words.
    fn peek(&self) -> (Token, &str) {
        self.items.get(self.position).map_or((Token::End, ""), |item| (as_word(item.token), &item.text))
    }

    fn next(&mut self) -> (Token, String) {
        let item = self.take();
        (as_word(item.token), item.text)
    }

    fn take(&mut self) -> Item {
        let end = || Item { token: Token::End, text: String::new() };
        let item = self.items.get(self.position).cloned().unwrap_or_else(end);
        self.position += 1;
        item
    }
}

fn as_word(token: Token) -> Token {
    match token {
        Token::In | Token::NotIn => Token::Identifier,
        other => other,
    }
}

#[cfg(test)]
mod tests;

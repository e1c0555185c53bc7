//! The part of CEL that shard selectors consist of: calls, paths and literals, joined by `||`. Some more is read only to
//! refuse it in the words of the API server.

/// Nesting of parentheses and calls.
const MAX_DEPTH: usize = 16;

/// One expression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Expression {
    Call {
        function: String,
        arguments: Vec<Expression>,
    },
    Name(String),
    Select {
        of: Box<Expression>,
        field: String,
    },
    Text(String),
    /// Another literal, by the Go type of its value.
    Literal(&'static str),
    List,
    Map,
}

impl Expression {
    /// Its number in `github.com/google/cel-go common/ast`, which error messages contain.
    pub(super) fn kind(&self) -> u8 {
        match self {
            Self::Call { .. } => 1,
            Self::Name(_) => 3,
            Self::List => 4,
            Self::Text(_) | Self::Literal(_) => 5,
            Self::Map => 6,
            Self::Select { .. } => 7,
        }
    }

    /// The text of a path such as `object.metadata.uid`; otherwise the kind of what is not part of a path.
    pub(super) fn path(&self) -> Result<String, u8> {
        match self {
            Self::Name(name) => Ok(name.clone()),
            Self::Select { of, field } => Ok(format!("{}.{field}", of.path()?)),
            other => Err(other.kind()),
        }
    }
}

/// Parses expressions that are joined by `||`.
///
/// # Errors
/// A message that names the unexpected input.
pub(super) fn parse(source: &str) -> Result<Vec<Expression>, String> {
    let mut parser = Parser { rest: source, depth: 0 };
    let alternatives = parser.alternatives()?;
    parser.skip_spaces();
    if parser.rest.is_empty() { Ok(alternatives) } else { Err(parser.unexpected()) }
}

/// The call as which CEL represents an operator. Its operands do not matter: no operator but `||` is allowed.
fn operation(function: &str) -> Expression {
    Expression::Call { function: function.to_owned(), arguments: Vec::new() }
}

struct Parser<'a> {
    rest: &'a str,
    depth: usize,
}

impl<'a> Parser<'a> {
    fn alternatives(&mut self) -> Result<Vec<Expression>, String> {
        let mut alternatives = self.conjunction()?;
        while self.accept("||") {
            alternatives.extend(self.conjunction()?);
        }
        Ok(alternatives)
    }

    fn conjunction(&mut self) -> Result<Vec<Expression>, String> {
        let first = self.operand()?;
        if !self.accept("&&") {
            return Ok(first);
        }
        self.operand()?;
        while self.accept("&&") {
            self.operand()?;
        }
        Ok(vec![operation("_&&_")])
    }

    /// One expression, or those in parentheses. All recursion leads through here.
    fn operand(&mut self) -> Result<Vec<Expression>, String> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err("expression recursion limit exceeded".to_owned());
        }
        let operand = if self.accept("(") {
            let inner = self.alternatives()?;
            if !self.accept(")") {
                return Err(self.unexpected());
            }
            inner
        } else {
            vec![self.single()?]
        };
        self.depth -= 1;
        Ok(operand)
    }

    fn single(&mut self) -> Result<Expression, String> {
        if self.accept("!") {
            self.operand()?;
            return Ok(operation("!_"));
        }
        let negative = self.accept("-");
        self.skip_spaces();
        let expression = match self.rest.chars().next() {
            Some(quote @ ('\'' | '"')) => self.text(quote)?,
            Some(digit) if digit.is_ascii_digit() => return Ok(self.number()),
            Some(first) if first.is_ascii_alphabetic() || first == '_' => self.path_or_call()?,
            Some('[') => self.items("[", "]").map(|_| Expression::List)?,
            Some('{') => self.map()?,
            _ => return Err(self.unexpected()),
        };
        Ok(if negative { operation("-_") } else { expression })
    }

    /// A map; its entries are not kept.
    fn map(&mut self) -> Result<Expression, String> {
        self.accept("{");
        while !self.accept("}") {
            self.alternatives()?;
            let colon = self.accept(":");
            if !colon {
                return Err(self.unexpected());
            }
            self.alternatives()?;
            self.accept(",");
        }
        Ok(Expression::Map)
    }

    fn text(&mut self, quote: char) -> Result<Expression, String> {
        let inner = self.rest.get(1..).unwrap_or_default();
        match inner.split_once(quote) {
            Some((text, rest)) if !text.contains(['\\', '\n', '\r']) => {
                self.rest = rest;
                Ok(Expression::Text(text.to_owned()))
            }
            _ => Err(format!("token recognition error at: '{}'", self.rest)),
        }
    }

    fn number(&mut self) -> Expression {
        let digits = self.take_while(|character| character.is_ascii_alphanumeric() || character == '.');
        let hexadecimal = digits.starts_with("0x");
        if digits.ends_with(['u', 'U']) {
            Expression::Literal("uint64")
        } else if !hexadecimal && digits.contains(['.', 'e', 'E']) {
            Expression::Literal("float64")
        } else {
            Expression::Literal("int64")
        }
    }

    /// A name, fields of it, and calls. The receiver of a call is no argument.
    fn path_or_call(&mut self) -> Result<Expression, String> {
        let mut expression = match self.name()? {
            "true" | "false" => Expression::Literal("bool"),
            "null" => Expression::Literal("structpb.NullValue"),
            name => Expression::Name(name.to_owned()),
        };
        loop {
            self.skip_spaces();
            if let Expression::Name(function) | Expression::Select { field: function, .. } = &expression
                && self.rest.starts_with('(')
            {
                let function = function.clone();
                expression = Expression::Call { function, arguments: self.items("(", ")")? };
            } else if self.rest.starts_with('[') {
                self.items("[", "]")?;
                expression = operation("_[_]");
            } else if self.accept(".") {
                expression = Expression::Select { of: Box::new(expression), field: self.name()?.to_owned() };
            } else {
                return Ok(expression);
            }
        }
    }

    /// The expressions between two brackets.
    fn items(&mut self, open: &str, close: &str) -> Result<Vec<Expression>, String> {
        let mut items = Vec::new();
        self.accept(open);
        if self.accept(close) {
            return Ok(items);
        }
        loop {
            let mut alternatives = self.alternatives()?;
            items.push(match alternatives.pop() {
                Some(only) if alternatives.is_empty() => only,
                _ => operation("_||_"),
            });
            if self.accept(close) {
                return Ok(items);
            }
            if !self.accept(",") {
                return Err(self.unexpected());
            }
        }
    }

    fn name(&mut self) -> Result<&'a str, String> {
        self.skip_spaces();
        let name = self.take_while(|character| character.is_ascii_alphanumeric() || character == '_');
        if name.is_empty() { Err(self.unexpected()) } else { Ok(name) }
    }

    fn take_while(&mut self, accepts: impl Fn(char) -> bool) -> &'a str {
        let length = self.rest.find(|character| !accepts(character)).unwrap_or(self.rest.len());
        let (taken, rest) = self.rest.split_at_checked(length).unwrap_or((self.rest, ""));
        self.rest = rest;
        taken
    }

    fn accept(&mut self, token: &str) -> bool {
        self.skip_spaces();
        let Some(rest) = self.rest.strip_prefix(token) else { return false };
        self.rest = rest;
        true
    }

    fn skip_spaces(&mut self) {
        self.rest = self.rest.trim_start();
    }

    fn unexpected(&self) -> String {
        match self.rest.chars().next() {
            None => "mismatched input '<EOF>'".to_owned(),
            Some(character) => format!("token recognition error at: '{character}'"),
        }
    }
}

//! The parser of `schema/types.txt`; its first lines describe the format.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::types::{Entry, Field, ListType, Message, Node, Part, Shape, Type, TypeRef};

/// The lines of the file, sorted by what they declare. Names have the form `alias.Name`.
#[derive(Default)]
struct Declarations {
    packages: HashMap<&'static str, &'static str>,
    structs: BTreeMap<&'static str, Struct>,
    /// The underlying type, and whether it is a protobuf message.
    named: HashMap<&'static str, (&'static str, bool)>,
    natives: HashSet<&'static str>,
}

#[derive(Default)]
struct Struct {
    atomic: bool,
    lines: Vec<&'static str>,
}

/// Parses the file.
pub(super) fn parse(text: &'static str) -> Result<Vec<Type>, String> {
    let mut declarations = Declarations::default();
    let mut current = None;
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        declarations.read(line, &mut current).ok_or_else(|| format!("cannot parse: {line}"))?;
    }
    let types = declarations.structs.iter().map(|(name, of)| declarations.build(name, of));
    types.collect()
}

impl Declarations {
    fn read(&mut self, line: &'static str, current: &mut Option<&'static str>) -> Option<()> {
        if line.starts_with(' ') {
            self.structs.get_mut((*current)?)?.lines.push(line);
            return Some(());
        }
        let mut words = line.split_whitespace();
        let (keyword, name) = (words.next()?, words.next()?);
        match keyword {
            "package" => drop(self.packages.insert(name, words.next()?)),
            "native" => drop(self.natives.insert(name)),
            "named" => {
                let underlying = words.next()?;
                self.named.insert(name, (underlying, words.any(|word| word == "message")));
            }
            "struct" => {
                let mut of = Struct::default();
                for word in words {
                    match word.split_once('=')? {
                        ("map", kind) => of.atomic = kind == "atomic",
                        _ => return None,
                    }
                }
                self.structs.insert(name, of);
                *current = Some(name);
            }
            _ => return None,
        }
        Some(())
    }

    fn build(&self, alias: &'static str, of: &Struct) -> Result<Type, String> {
        let path = self.path(alias).ok_or_else(|| format!("no package of {alias}"))?;
        let mut fields = Vec::new();
        let message = self.message(alias, of, &[], &mut fields)?;
        let always = fields.iter().enumerate().filter(|(_, field)| !field.omits(&zero(&field.node)));
        Ok(Type {
            path: Box::leak(path.into_boxed_str()),
            name: base(alias),
            atomic: of.atomic,
            always: always.map(|(position, _)| position).collect(),
            message,
            positions: fields.iter().map(|field| field.json).zip(0..).collect(),
            fields,
        })
    }

    /// Appends the fields of a struct, those of inlined structs in their place, and returns its message.
    fn message(
        &self,
        alias: &'static str,
        of: &Struct,
        embedded: &[&'static str],
        fields: &mut Vec<Field>,
    ) -> Result<Message, String> {
        let mut entries = Vec::new();
        for line in &of.lines {
            let wrong = || format!("cannot parse: {line}");
            let mut words = line.split_whitespace();
            let (json, go, kind, number) = (words.next(), words.next(), words.next(), words.next());
            let (Some(json), Some(go), Some(kind), Some(number)) = (json, go, kind, number) else {
                return Err(wrong());
            };
            let number = number.parse().map_err(|_| wrong())?;
            let part = if json == "-" {
                let inner = self.structs.get(kind).ok_or_else(wrong)?;
                let embedded: Vec<_> = embedded.iter().copied().chain([go]).collect();
                Part::Inlined(self.message(kind, inner, &embedded, fields)?)
            } else {
                let mut field = Field::new(json, embedded.to_vec(), self.node(kind).ok_or_else(wrong)?);
                words.try_for_each(|word| field.flag(word)).ok_or_else(wrong)?;
                fields.push(field);
                Part::Field(fields.len() - 1)
            };
            if number > 0 {
                entries.push(Entry { number, part });
            }
        }
        Ok(Message::new(base(alias), entries))
    }

    /// The type of an expression such as `*[]core.Container`.
    fn node(&self, expression: &'static str) -> Option<Node> {
        let (pointer, kind) = match expression.strip_prefix('*') {
            Some(kind) => (true, kind),
            None => (false, expression),
        };
        Some(Node { shape: self.shape(kind)?, pointer, go: self.go(kind)? })
    }

    fn shape(&self, kind: &'static str) -> Option<Shape> {
        if let Some(shape) = self.plain(kind) {
            return Some(shape);
        }
        if let Some((underlying, message)) = self.named.get(kind) {
            return match self.shape(underlying)? {
                Shape::List(item) if *message => Some(Shape::Items(item)),
                shape => Some(shape),
            };
        }
        if let Some(item) = kind.strip_prefix("[]") {
            return Some(Shape::List(Box::new(self.node(item)?)));
        }
        let (_, value) = kind.strip_prefix("map[")?.split_once(']')?;
        Some(Shape::Map(Box::new(self.node(value)?)))
    }

    /// Scalars, natives and structs.
    fn plain(&self, kind: &'static str) -> Option<Shape> {
        Some(match kind {
            "string" => Shape::String,
            "bool" => Shape::Bool,
            "int32" => Shape::Int32,
            "int64" => Shape::Int64,
            "meta.Time" => Shape::Time,
            "meta.MicroTime" => Shape::MicroTime,
            "meta.FieldsV1" => Shape::FieldsV1,
            "resource.Quantity" => Shape::Quantity,
            "intstr.IntOrString" => Shape::IntOrString,
            _ if self.natives.contains(kind) => return None,
            _ => {
                let position = self.structs.keys().position(|name| *name == kind)?;
                Shape::Struct(TypeRef(u16::try_from(position).ok()?))
            }
        })
    }

    /// The expression in Go's words: the last element of a package's path in place of its alias.
    fn go(&self, kind: &str) -> Option<String> {
        if let Some(item) = kind.strip_prefix('*') {
            return Some(format!("*{}", self.go(item)?));
        }
        if let Some(item) = kind.strip_prefix("[]") {
            return Some(format!("[]{}", self.go(item)?));
        }
        if let Some((key, value)) = kind.strip_prefix("map[").and_then(|rest| rest.split_once(']')) {
            return Some(format!("map[{}]{}", self.go(key)?, self.go(value)?));
        }
        let Some((alias, name)) = kind.split_once('.') else { return Some(kind.to_owned()) };
        let package = self.packages.get(alias)?;
        Some(format!("{}.{name}", package.rsplit('/').next()?))
    }

    fn path(&self, kind: &str) -> Option<String> {
        let (alias, name) = kind.split_once('.')?;
        Some(format!("{}.{name}", self.packages.get(alias)?))
    }
}

/// The zero value as far as the omission of a field depends on it. Nested types are not loaded yet.
fn zero(node: &Node) -> serde_json::Value {
    match node.shape {
        Shape::Struct(_) if !node.pointer => serde_json::json!({}),
        _ => node.zero(),
    }
}

fn base(alias: &'static str) -> &'static str {
    alias.split_once('.').map_or(alias, |(_, name)| name)
}

impl Field {
    fn new(json: &'static str, embedded: Vec<&'static str>, node: Node) -> Self {
        Self {
            json,
            key: format!("\"{json}\":"),
            embedded,
            node,
            omitempty: false,
            omitzero: false,
            default: None,
            patch_strategy: "",
            patch_merge_key: "",
            list_type: None,
            atomic_map: false,
        }
    }

    fn flag(&mut self, word: &'static str) -> Option<()> {
        match word.split_once('=').unwrap_or((word, "")) {
            ("omitempty", _) => self.omitempty = true,
            ("omitzero", _) => self.omitzero = true,
            ("default", text) => self.default = Some(serde_json::from_str(text).ok()?),
            ("patch", strategy) => self.patch_strategy = strategy,
            ("key", key) => self.patch_merge_key = key,
            ("map", kind) => self.atomic_map = kind == "atomic",
            ("list", "atomic") => self.list_type = Some(ListType::Atomic),
            ("list", "set") => self.list_type = Some(ListType::Set),
            ("list", text) => {
                let keys = text.strip_prefix("map:")?;
                self.list_type = Some(ListType::Map(keys.split(',').collect()));
            }
            _ => return None,
        }
        Some(())
    }
}

impl Message {
    fn new(name: &'static str, mut entries: Vec<Entry>) -> Self {
        entries.sort_by_key(|entry| entry.number);
        Self { name, entries }
    }
}

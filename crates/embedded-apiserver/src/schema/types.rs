//! A Go type of the API: its fields, and their encodings.

use std::collections::HashMap;
use std::fmt;
use std::ops::Deref;
use std::sync::{LazyLock, OnceLock};

use serde_json::{Map, Value};

/// A Go struct.
pub(crate) struct Type {
    /// Package path and name, such as `k8s.io/api/core/v1.Pod`.
    pub(crate) path: &'static str,
    /// The name alone, such as `Pod`.
    pub(crate) name: &'static str,
    /// True if server-side apply treats it as one value (`x-kubernetes-map-type: atomic`).
    pub(crate) atomic: bool,
    /// The fields in Go's order, with those of inlined structs in their place: the order of JSON.
    pub(crate) fields: Vec<Field>,
    /// The fields of its protobuf message.
    pub(crate) message: Message,
    /// Positions of fields that JSON contains even if they are zero.
    pub(crate) always: Vec<usize>,
    /// Positions of fields by their names in JSON.
    pub(super) positions: HashMap<&'static str, usize>,
}

/// A field of a struct.
#[derive(Debug)]
pub(crate) struct Field {
    /// The name in JSON.
    pub(crate) json: &'static str,
    /// The name with quotes and colon, as it is written.
    pub(crate) key: String,
    /// Names of the inlined structs that contain it, outermost first, such as `VolumeSource`.
    pub(crate) embedded: Vec<&'static str>,
    /// The type.
    pub(crate) node: Node,
    /// True if JSON leaves out its empty value.
    pub(crate) omitempty: bool,
    /// True if JSON leaves out its zero value.
    pub(crate) omitzero: bool,
    /// The default of `OpenAPI`, which server-side apply uses for absent keys of list items.
    pub(crate) default: Option<Value>,
    /// The strategies of strategic merge patches: `merge`, `replace`, `retainKeys`, separated by commas; often empty.
    pub(crate) patch_strategy: &'static str,
    /// The key that strategic merge patches compare items by; often empty.
    pub(crate) patch_merge_key: &'static str,
    /// The rule of server-side apply for a list.
    pub(crate) list_type: Option<ListType>,
    /// True if server-side apply treats a map or struct in this place as one value.
    pub(crate) atomic_map: bool,
}

/// The rule of server-side apply for a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ListType {
    /// One value.
    Atomic,
    /// Items are their own keys.
    Set,
    /// Items are structs with these keys.
    Map(Vec<&'static str>),
}

/// A type as it occurs in a field, list or map.
#[derive(Debug, Clone)]
pub(crate) struct Node {
    pub(crate) shape: Shape,
    /// True if the field is a pointer, so that absent differs from zero.
    pub(crate) pointer: bool,
    /// The type without pointer in Go's words, as in error messages: `v1.PodPhase`, `map[string]string`.
    pub(crate) go: String,
}

/// The structure of a type.
#[derive(Debug, Clone)]
pub(crate) enum Shape {
    String,
    Bool,
    Int32,
    Int64,
    /// Seconds; RFC 3339 in JSON.
    Time,
    /// Microseconds; RFC 3339 in JSON.
    MicroTime,
    Quantity,
    IntOrString,
    /// JSON text in protobuf, an object in JSON.
    FieldsV1,
    Struct(TypeRef),
    List(Box<Node>),
    /// A named slice that is a protobuf message `{repeated items = 1}`.
    Items(Box<Node>),
    /// Keys are strings.
    Map(Box<Node>),
}

/// A reference to a type of the schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TypeRef(pub(super) u16);

/// The protobuf message of a struct.
#[derive(Debug, Default)]
pub(crate) struct Message {
    /// The name of the struct.
    pub(crate) name: &'static str,
    /// The fields by ascending number.
    pub(crate) entries: Vec<Entry>,
}

/// A field of a protobuf message.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) number: u32,
    pub(crate) part: Part,
}

/// The content of a field of a protobuf message.
#[derive(Debug)]
pub(crate) enum Part {
    /// A field, by its position in [`Type::fields`].
    Field(usize),
    /// A struct that JSON inlines and protobuf nests. Its positions are those of the outer type.
    Inlined(Message),
}

impl Type {
    /// The field of this JSON name. Names are case-sensitive.
    pub(crate) fn field(&self, json: &str) -> Option<&Field> {
        self.fields.get(*self.positions.get(json)?)
    }

    /// The zero value: an object with the fields that JSON always contains.
    pub(crate) fn zero(&self) -> Value {
        self.complete(Map::new())
    }

    /// The object of these fields and those that JSON always contains.
    pub(crate) fn complete(&self, mut object: Map<String, Value>) -> Value {
        for field in self.always.iter().filter_map(|&position| self.fields.get(position)) {
            if !object.contains_key(field.json) {
                object.insert(field.json.to_owned(), field.node.zero());
            }
        }
        Value::Object(object)
    }
}

impl Field {
    /// True if Go's encoder leaves out the field if it has this value.
    pub(crate) fn omits(&self, value: &Value) -> bool {
        (self.omitempty && self.node.is_empty(value)) || (self.omitzero && self.node.is_zero(value))
    }
}

impl Node {
    /// The zero value in a tree.
    pub(crate) fn zero(&self) -> Value {
        if self.pointer {
            return Value::Null;
        }
        match &self.shape {
            Shape::String => Value::String(String::new()),
            Shape::Bool => Value::Bool(false),
            Shape::Int32 | Shape::Int64 | Shape::IntOrString => Value::from(0),
            Shape::Quantity => Value::from("0"),
            Shape::Struct(of) => of.zero(),
            _ => Value::Null,
        }
    }

    /// The value of a map's entry whose message has none: lists that are messages are empty there, and not nil.
    pub(crate) fn zero_of_entry(&self) -> Value {
        if matches!(self.shape, Shape::Items(_)) { Value::Array(Vec::new()) } else { self.zero() }
    }

    /// True if `omitempty` leaves out this value: false, 0, a nil pointer, and what has length 0. Structs are never empty.
    fn is_empty(&self, value: &Value) -> bool {
        if self.pointer {
            return value.is_null();
        }
        match &self.shape {
            Shape::String => value.is_null() || value.as_str() == Some(""),
            Shape::Bool => value != &Value::Bool(true),
            Shape::Int32 | Shape::Int64 => value.as_i64().unwrap_or(0) == 0,
            Shape::List(_) | Shape::Items(_) => value.as_array().is_none_or(Vec::is_empty),
            Shape::Map(_) => value.as_object().is_none_or(Map::is_empty),
            _ => false,
        }
    }

    fn is_zero(&self, value: &Value) -> bool {
        match &self.shape {
            Shape::Time | Shape::MicroTime => value.is_null(),
            _ => *value == self.zero(),
        }
    }
}

impl fmt::Debug for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.path)
    }
}

impl Deref for TypeRef {
    type Target = Type;

    fn deref(&self) -> &'static Type {
        self.get()
    }
}

impl TypeRef {
    /// The type, for as long as the program runs.
    pub(crate) fn get(self) -> &'static Type {
        static EMPTY: LazyLock<Type> = LazyLock::new(Type::empty);
        installed().get(usize::from(self.0)).unwrap_or_else(|| &EMPTY)
    }
}

static TYPES: OnceLock<Vec<Type>> = OnceLock::new();

/// Makes the types known to all references. Only the first call has an effect.
pub(super) fn install(types: Vec<Type>) {
    // a second call has the same types
    drop(TYPES.set(types));
}

/// The types that were installed.
pub(super) fn installed() -> &'static [Type] {
    TYPES.get().map_or(&[], Vec::as_slice)
}

impl Type {
    fn empty() -> Self {
        Self {
            path: "",
            name: "",
            atomic: false,
            fields: Vec::new(),
            message: Message::default(),
            always: Vec::new(),
            positions: HashMap::new(),
        }
    }
}

impl Message {
    /// The field of this number.
    #[inline]
    pub(crate) fn entry(&self, number: u32) -> Option<&Entry> {
        let position = self.entries.binary_search_by_key(&number, |entry| entry.number).ok()?;
        self.entries.get(position)
    }
}

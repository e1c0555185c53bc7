//! An applied configuration on top of the live object.

use serde_json::{Map, Value};

use super::element::Element;
use super::shape::{List, Shape};
use crate::kinds::tree::is_void;

/// The live object with the values of a configuration. Nothing is removed. Source: structured-merge-diff `typed.Merge`.
///
/// The configuration was [checked](super::check::check). Fields that the type lacks are left out.
pub(crate) fn merge(shape: Shape, live: &Value, config: &Value) -> Value {
    walk(shape, Some(live), Some(config)).unwrap_or(Value::Null)
}

/// The merged value of a place. `None` if nothing is left of a container.
fn walk(shape: Shape, live: Option<&Value>, config: Option<&Value>) -> Option<Value> {
    let leaf = config.or(live).is_none_or(|value| shape.is_leaf(value));
    if leaf || (live.is_none_or(is_void) && config.is_none_or(is_void)) {
        return config.or(live).cloned();
    }
    match shape {
        Shape::List(list) => merge_items(list, items(live), items(config)),
        _ => merge_fields(shape, live.and_then(Value::as_object), config.and_then(Value::as_object)),
    }
}

fn merge_fields(
    shape: Shape,
    live: Option<&Map<String, Value>>,
    config: Option<&Map<String, Value>>,
) -> Option<Value> {
    let mut merged = Map::new();
    let ours = config
        .into_iter()
        .flatten()
        .map(|(name, value)| (name, live.and_then(|live| live.get(name)), Some(value)));
    let theirs = live.into_iter().flatten().map(|(name, value)| (name, Some(value), None));
    let theirs = theirs.filter(|(name, ..)| config.is_none_or(|config| !config.contains_key(*name)));
    for (name, live, config) in ours.chain(theirs) {
        let Some((below, _)) = shape.child(name) else { continue };
        if let Some(value) = walk(below, live, config) {
            merged.insert(name.clone(), value);
        }
    }
    if merged.is_empty() { None } else { Some(Value::Object(merged)) }
}

/// The keys of a list and where their items are.
struct Index<'a> {
    keys: Vec<Element<'a>>,
    /// The items of these keys.
    keyed: Vec<&'a Value>,
    /// The items without a key.
    others: Vec<&'a Value>,
    /// By key, in order: the item. `None` if several have the key.
    items: Vec<(Element<'a>, Option<&'a Value>)>,
}

impl<'a> Index<'a> {
    fn of(list: List, items: &'a [Value]) -> Self {
        let (mut keys, mut keyed, mut others) = (Vec::with_capacity(items.len()), Vec::new(), Vec::new());
        let mut by_key: Vec<(Element<'a>, Option<&'a Value>)> = Vec::with_capacity(items.len());
        for item in items {
            if let Ok(key) = list.element(item) {
                by_key.push((key.clone(), Some(item)));
                keys.push(key);
                keyed.push(item);
            } else {
                others.push(item);
            }
        }
        by_key.sort_by(|a, b| a.0.cmp(&b.0));
        by_key.dedup_by(|later, kept| {
            let double = later.0 == kept.0;
            if double {
                kept.1 = None;
            }
            double
        });
        Self { keys, keyed, others, items: by_key }
    }

    fn has(&self, key: &Element<'_>) -> bool {
        self.items.binary_search_by(|(other, _)| other.cmp(key)).is_ok()
    }

    /// The item of a key; null if several have it.
    fn get(&self, key: &Element<'_>) -> Option<&'a Value> {
        let at = self.items.binary_search_by(|(other, _)| other.cmp(key)).ok()?;
        self.items.get(at).map(|(_, item)| item.unwrap_or(&Value::Null))
    }
}

/// Merges items by key. Items of the configuration keep its order; the others stay near their neighbours.
fn merge_items(list: List, live: &[Value], config: &[Value]) -> Option<Value> {
    let left = Index::of(list, live);
    let right = Index::of(list, config);
    let mut merging = Merging { list, left: &left, right: &right, merged: Vec::new(), taken: Vec::new() };
    merging.run();
    let mut merged = merging.merged;
    merged.extend(left.others.into_iter().cloned());
    if merged.is_empty() { None } else { Some(Value::Array(merged)) }
}

struct Merging<'m, 'a> {
    list: List,
    left: &'m Index<'a>,
    right: &'m Index<'a>,
    merged: Vec<Value>,
    /// Keys of the configuration whose items are merged.
    taken: Vec<&'m Element<'a>>,
}

impl<'m, 'a> Merging<'m, 'a> {
    fn run(&mut self) {
        let mut shared = self.right.keys.iter().filter(|key| self.left.has(key)).peekable();
        let (mut l, mut r) = (0, 0);
        while l < self.left.keys.len() || r < self.right.keys.len() {
            let (left, right) = (self.left.keys.get(l), self.right.keys.get(r));
            if let (Some(ours), Some(theirs)) = (left, right) {
                if ours == theirs {
                    self.take(theirs);
                    l += 1;
                    r += 1;
                    shared.next();
                    continue;
                }
                // an item of both, but not the one whose turn it is
                if self.right.has(ours) && shared.peek().is_some_and(|next| *next != ours) {
                    l += 1;
                    continue;
                }
            }
            if let Some(ours) = left {
                if !self.right.has(ours) {
                    self.push(self.left.keyed.get(l).copied(), None);
                    l += 1;
                    continue;
                }
                if self.taken.contains(&ours) {
                    l += 1;
                }
            }
            if let Some(theirs) = right {
                self.take(theirs);
                r += 1;
                shared.next_if(|next| *next == theirs);
            }
        }
    }

    /// Appends an item of the configuration, merged with the live one.
    fn take(&mut self, key: &'m Element<'a>) {
        self.taken.push(key);
        self.push(self.left.get(key), self.right.get(key));
    }

    fn push(&mut self, live: Option<&Value>, config: Option<&Value>) {
        let item = walk(self.list.item(), live, config);
        self.merged.extend(item);
    }
}

fn items(value: Option<&Value>) -> &[Value] {
    value.and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

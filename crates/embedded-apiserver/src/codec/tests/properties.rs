//! Properties of the codec on random trees and bytes.

use proptest::prelude::*;
use serde_json::{Map, Value};

use crate::codec::json::{self, FieldValidation};
use crate::codec::protobuf;
use crate::schema::{Node, Shape, Type, types};

/// Any type of the schema.
fn any_type() -> impl Strategy<Value = &'static Type> {
    (0..types().len()).prop_map(|index| &types()[index])
}

/// A canonical tree of a type, as it is read from the store: empty lists and maps are null.
fn tree(of: &'static Type) -> BoxedStrategy<Value> {
    let fields: Vec<_> = of.fields.iter().filter(|field| field.embedded != ["TypeMeta"]).collect();
    let values: Vec<_> =
        fields.iter().map(|field| prop_oneof![Just(None), value(&field.node).prop_map(Some)]).collect();
    values
        .prop_map(move |values| {
            let mut map = Map::new();
            for (field, value) in fields.iter().zip(values) {
                let value = value.unwrap_or_else(|| field.node.zero());
                if !field.omits(&value) {
                    map.insert(field.json.to_owned(), value);
                }
            }
            Value::Object(map)
        })
        .boxed()
}

fn value(of: &'static Node) -> BoxedStrategy<Value> {
    match &of.shape {
        Shape::String => ".{0,12}".prop_map(Value::from).boxed(),
        Shape::Bool => any::<bool>().prop_map(Value::from).boxed(),
        Shape::Int32 => any::<i32>().prop_map(Value::from).boxed(),
        Shape::Int64 => any::<i64>().prop_map(Value::from).boxed(),
        Shape::Time => (0..2000, 1..13, 1..29)
            .prop_map(|(y, m, d)| format!("{y:04}-{m:02}-{d:02}T01:02:03Z").into())
            .boxed(),
        Shape::MicroTime => {
            (0..999_999).prop_map(|micros| format!("2024-01-02T03:04:05.{micros:06}Z").into()).boxed()
        }
        Shape::Quantity => {
            prop_oneof!["[1-9]{1,4}(m|k|Mi|Gi)?".prop_map(Value::from), Just("0".into())].boxed()
        }
        Shape::IntOrString => {
            prop_oneof![any::<i32>().prop_map(Value::from), ".{0,8}".prop_map(Value::from)].boxed()
        }
        Shape::FieldsV1 => Just(serde_json::json!({"f:metadata": {"f:name": {}, ".": {}}})).boxed(),
        Shape::Struct(inner) => tree(inner.get()),
        Shape::List(item) => prop::collection::vec(value(item), 0..3).prop_map(or_null).boxed(),
        // the only such lists are values of maps, and those are there even if they are empty
        Shape::Items(item) => prop::collection::vec(value(item), 0..3).prop_map(Value::Array).boxed(),
        Shape::Map(item) => prop::collection::btree_map(".{0,6}", value(item), 0..3)
            .prop_map(|map| if map.is_empty() { Value::Null } else { map.into_iter().collect() })
            .boxed(),
    }
}

fn or_null(items: Vec<Value>) -> Value {
    if items.is_empty() { Value::Null } else { Value::Array(items) }
}

fn a_tree() -> impl Strategy<Value = (&'static Type, Value)> {
    any_type().prop_flat_map(|of| (Just(of), tree(of)))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases / 4))]

    #[test]
    fn all_encodings_of_a_tree_decode_to_it((of, tree) in a_tree()) {
        let bytes = protobuf::encode(of, &tree);
        prop_assert_eq!(&protobuf::decode(of, &bytes).unwrap(), &tree);
        let mut text = Vec::new();
        json::encode(of, &tree, &mut text);
        let (decoded, problems) = json::decode(of, json::parse(&text).unwrap(), FieldValidation::Strict).unwrap();
        prop_assert_eq!(decoded, tree);
        prop_assert_eq!(problems, Vec::<String>::new());
    }

    #[test]
    fn spoiled_bytes_are_an_error_or_a_tree((of, tree) in a_tree(), spoil in prop::collection::vec((any::<u16>(), any::<u8>()), 1..4)) {
        let mut bytes = protobuf::encode(of, &tree);
        for (at, byte) in spoil {
            let length = bytes.len().max(1);
            if let Some(place) = bytes.get_mut(usize::from(at) % length) {
                *place = byte;
            }
        }
        let _ = protobuf::Template::cut(&bytes).stamp(1);
        if let Ok(tree) = protobuf::decode(of, &bytes) {
            // what was decoded is canonical
            let again = protobuf::encode(of, &tree);
            prop_assert_eq!(protobuf::decode(of, &again).unwrap(), tree);
        }
    }

    #[test]
    fn spoiled_text_is_an_error_or_a_tree((of, tree) in a_tree(), spoil in prop::collection::vec((any::<u16>(), any::<u8>()), 1..4)) {
        let mut text = Vec::new();
        json::encode(of, &tree, &mut text);
        for (at, byte) in spoil {
            let length = text.len().max(1);
            if let Some(place) = text.get_mut(usize::from(at) % length) {
                *place = byte;
            }
        }
        let decode = |tree| json::decode(of, tree, FieldValidation::Warn);
        if let Ok((tree, _)) = json::parse(&text).and_then(decode) {
            // encoding any tree is possible, also one that is in no store
            protobuf::decode(of, &protobuf::encode(of, &tree)).unwrap();
        }
    }

    #[test]
    fn any_bytes_are_an_error_or_a_tree(of in any_type(), bytes in prop::collection::vec(any::<u8>(), 0..60)) {
        let _ = protobuf::decode(of, &bytes);
        let _ = protobuf::Template::cut(&bytes).stamp(1);
    }
}

#[test]
fn deep_nesting_is_refused() {
    for open in ["[", "{\"a\":"] {
        let text = format!("{{\"unknown\":{}", open.repeat(100_000));
        let error = json::parse(text.as_bytes()).unwrap_err();
        assert_eq!(error.0, "malformed JSON");
    }
}

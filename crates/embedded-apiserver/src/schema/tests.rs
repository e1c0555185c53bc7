use std::collections::HashSet;

use super::*;

#[test]
fn the_file_of_types_is_well_formed() {
    let types = load::parse(include_str!("../../schema/types.txt")).unwrap();
    assert!(types.len() > 200, "{} types", types.len());
}

#[test]
fn fields_have_distinct_names() {
    for of in types() {
        let names: HashSet<_> = of.fields.iter().map(|field| field.json).collect();
        assert_eq!(names.len(), of.fields.len(), "{}", of.path);
        for field in &of.fields {
            assert_eq!(of.field(field.json).unwrap().json, field.json, "{}", of.path);
        }
        assert!(of.field("noSuchField").is_none());
    }
}

#[test]
fn types_do_not_contain_themselves() {
    fn depth(of: &Type, above: &mut Vec<&'static str>) -> usize {
        assert!(!above.contains(&of.path), "{} contains itself: {above:?}", of.path);
        above.push(of.path);
        let deepest =
            of.fields.iter().filter_map(|field| inner(&field.node)).map(|of| depth(of, above)).max();
        above.pop();
        deepest.unwrap_or(0) + 1
    }
    fn inner(node: &Node) -> Option<&'static Type> {
        match &node.shape {
            Shape::Struct(of) => Some(of.get()),
            Shape::List(item) | Shape::Items(item) | Shape::Map(item) => inner(item),
            _ => None,
        }
    }
    let deepest = types().iter().map(|of| depth(of, &mut Vec::new())).max();
    assert!(deepest.unwrap() < 20, "{deepest:?}");
}

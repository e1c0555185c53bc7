use proptest::collection::{btree_map, btree_set, vec};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::{at, entries, service, services};
use crate::managed_fields::collect::{collect, with_named_fields};
use crate::managed_fields::compare::compare;
use crate::managed_fields::fields_v1;
use crate::managed_fields::merge::merge;
use crate::managed_fields::set::Set;
use crate::managed_fields::shape::Shape;

fn words() -> impl Strategy<Value = String> {
    prop::sample::select(vec!["a", "b", "c"]).prop_map(str::to_owned)
}

/// Services with few values, so that they have much in common. Keys of items are unique.
fn any_service() -> impl Strategy<Value = Value> {
    let ports = btree_map(1..4_u8, (words(), 1..3_u8), 0..3);
    let lists = (btree_set(words(), 0..3), vec(words(), 0..3), ports);
    let maps = (btree_map(words(), words(), 0..3), btree_map(words(), words(), 0..2));
    (lists, maps, proptest::option::of(words())).prop_map(|((finalizers, ips, ports), (labels, selector), affinity)| {
        let ports: Vec<Value> = ports
            .into_iter()
            .map(|(port, (name, target))| json!({"port": port, "protocol": "TCP", "name": name, "targetPort": target}))
            .collect();
        let mut object = service(json!({}), json!({}));
        let mut put = |place: &str, name: &str, value: Value| {
            if !matches!(&value, Value::Array(items) if items.is_empty())
                && !matches!(&value, Value::Object(fields) if fields.is_empty())
            {
                object[place][name] = value;
            }
        };
        put("metadata", "labels", json!(labels));
        put("metadata", "finalizers", json!(finalizers));
        put("spec", "ports", json!(ports));
        put("spec", "selector", json!(selector));
        put("spec", "clusterIPs", json!(ips));
        if let Some(affinity) = affinity {
            put("spec", "sessionAffinity", json!(affinity));
        }
        object
    })
}

fn shape() -> Shape {
    Shape::of_type(services().of)
}

proptest! {
    #[test]
    fn applying_twice_is_applying_once(live in any_service(), config in any_service(), force: bool) {
        let mut live = live;
        services().update(None, &mut live, "creator", at(1));
        live["metadata"]["uid"] = json!("u");
        if let Ok(once) = services().apply(Some(&live), &config, "one", force, at(2)) {
            let twice = services().apply(Some(&once), &config, "one", false, at(3)).unwrap();
            prop_assert_eq!(twice, once);
        }
    }

    #[test]
    fn what_is_applied_is_there(live in any_service(), config in any_service()) {
        let merged = merge(shape(), &live, &config);
        let paths = with_named_fields(&collect(shape(), &merged), Some(shape()));
        prop_assert!(collect(shape(), &config).without(&paths).is_empty());
        let again = merge(shape(), &merged, &config);
        let changes = compare(shape(), &merged, &again);
        prop_assert!(changes.removed.is_empty() && changes.modified.is_empty() && changes.added.is_empty());
    }

    #[test]
    fn no_path_differs_in_two_ways(old in any_service(), new in any_service()) {
        let changes = compare(shape(), &old, &new);
        for (a, b) in [
            (&changes.removed, &changes.modified),
            (&changes.removed, &changes.added),
            (&changes.modified, &changes.added),
        ] {
            prop_assert!(a.intersection(b).is_empty());
        }
        prop_assert!(compare(shape(), &old, &old).modified.is_empty());
        prop_assert_eq!(old == new, changes.removed.union(changes.modified).union(changes.added).is_empty());
    }

    #[test]
    fn updates_leave_each_field_to_one_owner(steps in vec((any_service(), words()), 1..6)) {
        let mut live: Option<Value> = None;
        for (second, (mut object, manager)) in (1..).zip(steps) {
            services().update(live.as_ref(), &mut object, &manager, at(second));
            object["metadata"]["uid"] = json!("u");
            let entries = entries(&object);
            let sets: Vec<Set<'_>> =
                entries.iter().map(|entry| fields_v1::decode(&entry["fieldsV1"]).unwrap()).collect();
            for (index, set) in sets.iter().enumerate() {
                prop_assert!(sets.iter().skip(index + 1).all(|other| set.intersection(other).is_empty()));
            }
            live = Some(object);
        }
    }

    #[test]
    fn sets_obey_their_laws(a in any_service(), b in any_service()) {
        let (a, b) = (collect(shape(), &a), collect(shape(), &b));
        let union = a.clone().union(b.clone());
        prop_assert_eq!(&union, &b.clone().union(a.clone()));
        prop_assert_eq!(&union.clone().without(&b), &a.clone().without(&b));
        prop_assert_eq!(a.intersection(&b).union(a.clone().without(&b)), a.clone());
        prop_assert!(a.paths().iter().all(|path| union.has(path)));
        let encoded = fields_v1::encode(&union);
        prop_assert_eq!(&fields_v1::decode(&encoded).unwrap(), &union);
    }
}

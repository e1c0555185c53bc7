//! Kinds that this crate does not know: custom resources, and built-in kinds of other API groups.

mod change;
pub(crate) mod tables;

pub use self::change::CustomChange;

use crate::resource::{Change, Resource};
use crate::state::{CachedResource, Handler, State};
use crate::store::Store;

/// A kind of another crate, cached by the same list-watch as Services and pods, and read in the same moment: `Kind::table(state)`, with
/// [`CachedResource`] in scope.
///
/// ```
/// use endpoint_informers::custom::CustomResource;
/// use endpoint_informers::resource::Resource;
/// use endpointslice::Interner;
/// use serde::Deserialize;
///
/// /// A NetworkAttachmentDefinition: that it exists.
/// #[derive(Deserialize, PartialEq)]
/// struct Network {
///     metadata: Metadata,
/// }
///
/// #[derive(Deserialize, PartialEq)]
/// struct Metadata {
///     namespace: String,
///     name: String,
///     #[serde(rename = "resourceVersion")]
///     resource_version: String,
/// }
///
/// impl Resource for Network {
///     const KIND: &'static str = "NetworkAttachmentDefinition";
///     const RESOURCE: &'static str = "network-attachment-definitions";
///     const PATH: &'static str = "/apis/k8s.cni.cncf.io/v1/network-attachment-definitions";
///     type Index = ();
///
///     fn read_json(json: &str, _: &mut Interner) -> Result<(Self, String), serde_json::Error> {
///         let object: Self = serde_json::from_str(json)?;
///         let version = object.metadata.resource_version.clone();
///         Ok((object, version))
///     }
///
///     fn namespace(&self) -> &str {
///         &self.metadata.namespace
///     }
///
///     fn name(&self) -> &str {
///         &self.metadata.name
///     }
///
///     // Everything that decides about endpoints: a change of anything else queues nothing.
///     fn is_same(&self, other: &Self) -> bool {
///         self.metadata.name == other.metadata.name
///     }
/// }
///
/// impl CustomResource for Network {}
/// ```
pub trait CustomResource: Resource {}

impl<K: CustomResource> CachedResource for K {
    fn table(state: &State) -> &Store<Self> {
        state.custom.get()
    }

    fn table_mut(state: &mut State) -> &mut Store<Self> {
        state.custom.get_mut()
    }

    fn notify(handler: &dyn Handler, change: &Change<Self>, state: &State, is_initial_list: bool) {
        handler.custom(CustomChange::new(change), state, is_initial_list);
    }
}

#[cfg(test)]
mod tests {
    use endpointslice::Interner;
    use kube_protobuf::DecodeError;
    use serde_json::Value;

    use super::*;
    use crate::cache::{Cache, Delta};

    /// A kind that is nothing but a name.
    macro_rules! kind {
        ($kind:ident) => {
            #[derive(PartialEq)]
            struct $kind(String);

            impl Resource for $kind {
                const KIND: &'static str = stringify!($kind);
                const RESOURCE: &'static str = stringify!($kind);
                const PATH: &'static str = "";
                const NAMESPACED: bool = false;
                type Index = ();

                fn read_json(json: &str, _: &mut Interner) -> Result<(Self, String), serde_json::Error> {
                    let object: Value = serde_json::from_str(json)?;
                    Ok((Self(object["name"].to_string()), String::new()))
                }

                fn namespace(&self) -> &str {
                    ""
                }

                fn name(&self) -> &str {
                    &self.0
                }

                fn is_same(&self, other: &Self) -> bool {
                    self == other
                }
            }

            impl CustomResource for $kind {}
        };
    }

    kind!(Bridge);
    kind!(Tunnel);

    #[test]
    fn each_custom_kind_has_a_table_of_its_own() {
        let cache = Cache::default();
        cache.read(|state| assert!(Tunnel::table(state).is_empty() && Bridge::table(state).is_empty()));
        cache.apply(["a", "b"].map(|name| Delta::Upsert(Bridge(name.to_owned()))), "7", false);
        cache.upsert(Tunnel("a".to_owned()));
        cache.remove::<Bridge>("", "a");
        cache.read(|state| {
            assert_eq!((Bridge::table(state).len(), Tunnel::table(state).len()), (1, 1));
            assert_eq!((Bridge::table(state).observed(), Tunnel::table(state).observed()), (7, 0));
            assert!(Bridge::table(state).get("", "b").is_some());
        });
    }

    #[test]
    fn protobuf_of_a_kind_without_a_reader_is_refused() {
        let error = Bridge::read_protobuf(b"", &mut Interner::default()).err().unwrap();
        assert_eq!(error, DecodeError::json_only("Bridge"));
    }
}

//! A list as the body of a response.

use kube_protobuf::{varint, wrap};
use serde_json::Value;

use super::read::Page;
use crate::codec::protobuf::delimited;

/// The tag of field 4 with a number.
const VARINT_4: u8 = 0x20;

impl Page {
    /// The list as JSON. `kind` is that of the list; `write` appends the JSON of an object.
    pub(crate) fn to_json(
        &self,
        api_version: &str,
        kind: &str,
        write: impl Fn(&[u8], &mut Vec<u8>),
    ) -> Vec<u8> {
        let (kind, api_version) = (Value::from(kind), Value::from(api_version));
        let metadata = self.metadata_json();
        let head = format!(r#"{{"kind":{kind},"apiVersion":{api_version},"metadata":{metadata},"items":["#);
        let mut json = head.into_bytes();
        for (index, object) in self.items.iter().enumerate() {
            if index > 0 {
                json.push(b',');
            }
            write(object.body(), &mut json);
        }
        json.extend_from_slice(b"]}\n");
        json
    }

    /// The list as protobuf in its envelope, byte for byte as Go's serializer writes it.
    pub(crate) fn to_protobuf(&self, api_version: &str, kind: &str) -> Vec<u8> {
        let mut raw = Vec::new();
        delimited(&mut raw, 1, &self.metadata_protobuf());
        for object in &self.items {
            delimited(&mut raw, 2, object.body());
        }
        wrap(api_version, kind, &raw)
    }

    /// `ListMeta`, with the fields in the order of Go's encoder.
    pub(crate) fn metadata_json(&self) -> String {
        let mut fields = vec![format!(r#""resourceVersion":"{}""#, self.version)];
        if !self.continue_token.is_empty() {
            fields.push(format!(r#""continue":"{}""#, self.continue_token));
        }
        if let Some(remaining) = self.remaining {
            fields.push(format!(r#""remainingItemCount":{remaining}"#));
        }
        format!("{{{}}}", fields.join(","))
    }

    /// `ListMeta` as a message.
    fn metadata_protobuf(&self) -> Vec<u8> {
        let mut metadata = Vec::new();
        delimited(&mut metadata, 1, b"");
        delimited(&mut metadata, 2, self.version.to_string().as_bytes());
        delimited(&mut metadata, 3, self.continue_token.as_bytes());
        if let Some(remaining) = self.remaining {
            metadata.push(VARINT_4);
            let (bytes, used) = varint(remaining.cast_unsigned());
            metadata.extend(bytes.into_iter().take(used));
        }
        metadata
    }
}

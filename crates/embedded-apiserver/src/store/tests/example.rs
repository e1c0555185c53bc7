//! Small objects for tests.

fn field(tag: u8, content: &[u8]) -> Vec<u8> {
    let mut field = vec![tag, u8::try_from(content.len()).unwrap()];
    field.extend(content);
    field
}

/// `ObjectMeta` with a name and labels.
pub(crate) fn metadata(name: &str, labels: &[(&str, &str)]) -> Vec<u8> {
    let mut metadata = field(0x0a, name.as_bytes());
    for (key, value) in labels {
        let entry = [field(0x0a, key.as_bytes()), field(0x12, value.as_bytes())].concat();
        metadata.extend(field(0x5a, &entry));
    }
    metadata
}

/// An object with a name and the label `a`.
pub(crate) fn labelled(name: &str, label: u8) -> Vec<u8> {
    field(0x0a, &metadata(name, &[("a", &label.to_string())]))
}

/// An object with a name and a number outside of the metadata.
pub(crate) fn numbered(name: &str, number: u8) -> Vec<u8> {
    [field(0x0a, &metadata(name, &[])), vec![0x10, number]].concat()
}

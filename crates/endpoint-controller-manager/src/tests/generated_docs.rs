//! Documents of `docs/reference` that are generated from the program: `flags.md`, `metrics.md`; and `versions.md`, which
//! has its supported releases.

mod api_server;
mod flags;
mod metrics;
mod versions;

/// The command that writes the documents anew.
const REFRESH: &str = "UPDATE_DOCS=1 cargo test -p endpoint-controller-manager generated_docs";

/// Fails if a document is not the generated text. With `UPDATE_DOCS` set, writes it instead.
fn assert_current(name: &str, generated: &str) {
    let path = format!("{}/../../docs/reference/{name}", env!("CARGO_MANIFEST_DIR"));
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, generated).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    for (number, (line, expected)) in written.lines().zip(generated.lines()).enumerate() {
        assert_eq!(
            line,
            expected,
            "docs/reference/{name}:{} is out of date; refresh it: {REFRESH}",
            number + 1
        );
    }
    assert_eq!(written.len(), generated.len(), "docs/reference/{name} is out of date; refresh it: {REFRESH}");
}

//! The program of the tutorial is compiled as an example of the crate `tests`.

const README: &str = include_str!("../../README.md");
const PROGRAM: &str = include_str!("../../../../tests/examples/own_slices.rs");

#[test]
fn the_tutorial_shows_the_program_that_is_compiled() {
    assert!(README.contains(PROGRAM), "copy tests/examples/own_slices.rs to the README");
}

/// The tutorial is followed outside the workspace, so that it names the versions of dependencies itself.
#[test]
fn the_tutorial_names_the_versions_of_the_workspace() {
    let workspace = include_str!("../../../../Cargo.toml");
    let versions = |text: &str, name: &str| -> Option<String> {
        let line = text.lines().find(|line| line.starts_with(&format!("{name} = {{ version")))?;
        line.split('"').nth(1).map(str::to_owned)
    };
    for name in ["k8s-openapi", "kube", "tokio"] {
        assert_eq!(versions(README, name), versions(workspace, name), "{name}");
    }
    let (version, _) = env!("CARGO_PKG_VERSION").rsplit_once('.').unwrap();
    assert!(README.contains(&format!("\nendpointslice = \"{version}\"\n")), "endpointslice");
}

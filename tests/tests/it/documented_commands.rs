//! Commands in documents: programs know the flags, the chart knows the values, files exist, also those that only the text names.
//! Not checked are flags that need or exclude each other.

use std::path::{Path, PathBuf};
use std::{fmt, fs};

use serde_yaml::Value;
use tests::wait::LIMIT;
use tests::{binaries, process};

/// The root of the repository.
fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

/// The documents of a folder and those below it.
fn documents(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let files = entries.flat_map(|path| if path.is_dir() { documents(&path) } else { vec![path] });
    files.filter(|path| path.extension().is_some_and(|extension| extension == "md")).collect()
}

/// All documents of the repository for its users and developers.
fn all_documents() -> impl Iterator<Item = PathBuf> {
    let folders = ["docs", "deploy", "crates", "config"].into_iter();
    let below = folders.flat_map(|folder| documents(&root().join(folder)));
    below.chain(["README.md", "CHANGELOG.md", "CONTRIBUTING.md"].map(|name| root().join(name)))
}

/// A command, and the document that has it.
struct Documented {
    document: PathBuf,
    words: Vec<String>,
}

/// The lines of all blocks of shell code, those that end in a backslash together with the next.
fn shell_lines(text: &str) -> Vec<String> {
    let (mut is_shell, mut lines) = (false, Vec::new());
    for line in text.replace("\\\n", " ").lines().map(str::trim_start) {
        match line.strip_prefix("```") {
            Some(language) => is_shell = language == "sh",
            None if is_shell => lines.push(line.to_owned()),
            None => {}
        }
    }
    lines
}

/// The commands of all blocks of shell code, one for each part of a pipeline or a list.
fn commands() -> Vec<Documented> {
    let mut commands = Vec::new();
    for document in all_documents() {
        let text = fs::read_to_string(&document).unwrap();
        // A line that cannot be split is one of a text over several lines: a heredoc or a program in quotes.
        let lines = shell_lines(&text);
        for words in lines.iter().filter_map(|line| shlex::split(line)) {
            let parts = words.split(|word| ["|", "||", "&&", "&", ";"].contains(&word.as_str()));
            commands
                .extend(parts.map(|words| Documented { document: document.clone(), words: words.to_vec() }));
        }
    }
    commands
}

impl fmt::Display for Documented {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` in {}", self.words.join(" "), self.document.display())
    }
}

impl Documented {
    /// The program of this repository that it starts, and the arguments.
    fn program(&self) -> Option<(PathBuf, &[String])> {
        let is_assignment = |word: &&String| !word.starts_with('-') && word.contains('=');
        let assignments = self.words.iter().take_while(is_assignment).count();
        let words: Vec<&str> = self.words[assignments..].iter().map(String::as_str).collect();
        let (program, skipped) = match words[..] {
            ["kubectl", "endpoints", ..] => (binaries::kubectl_endpoints(), 2),
            ["kubectl-endpoints", ..] => (binaries::kubectl_endpoints(), 1),
            // The first command of README: the default program.
            ["cargo", "run", "--", ..] => (binaries::kubectl_endpoints(), 3),
            ["endpoint-controller-manager", ..] => (binaries::endpoint_controller_manager(), 1),
            ["pod-network-controller", ..] => (binaries::pod_network_controller(), 1),
            _ => return None,
        };
        Some((program, &self.words[assignments + skipped..]))
    }

    /// The values that it sets of the chart.
    fn values(&self) -> impl Iterator<Item = &str> {
        let is_of_chart = self.words.iter().any(|word| word == "deploy/chart");
        let after = self.words.windows(2).filter(|pair| pair[0] == "--set").map(|pair| &*pair[1]);
        let joined = self.words.iter().filter_map(|word| word.strip_prefix("--set="));
        let values = after.chain(joined).filter(move |_| is_of_chart);
        // A comma in braces is one of a list.
        values
            .flat_map(|values| values.split(if values.contains('{') { '\n' } else { ',' }))
            .filter_map(|value| value.split('=').next())
    }

    /// Its words that name files of the repository.
    fn files(&self) -> impl Iterator<Item = &str> {
        let words = self.words.iter().map(String::as_str).filter(|word| !word.contains(['*', '$', '=']));
        words.filter(|word| ["deploy/", "config/", "hack/"].iter().any(|folder| word.starts_with(folder)))
    }
}

/// A program says what is wrong with a flag or a value before it prints help.
#[test]
fn programs_know_their_flags() {
    let mut count = 0;
    for command in commands() {
        let Some((program, arguments)) = command.program() else { continue };
        let arguments = arguments.iter().filter(|word| !word.contains('…')).map(String::as_str);
        let arguments: Vec<&str> = arguments.chain(["--help"]).collect();
        let output = process::output(&program, &arguments, LIMIT);
        assert!(output.status.success(), "{command}: {}", String::from_utf8_lossy(&output.stderr));
        count += 1;
    }
    assert!(count > 30, "only {count} commands were found");
}

#[test]
fn the_chart_has_the_values() {
    let text = fs::read_to_string(root().join("deploy/chart/values.yaml")).unwrap();
    let all: Value = serde_yaml::from_str(&text).unwrap();
    let mut count = 0;
    for command in commands() {
        for path in command.values() {
            let mut value = &all;
            for key in path.split('.') {
                // Maps whose keys users choose are empty.
                if value.as_mapping().is_some_and(serde_yaml::Mapping::is_empty) {
                    break;
                }
                value = value.get(key).unwrap_or_else(|| panic!("{path} in {command}"));
            }
            count += 1;
        }
    }
    assert!(count > 8, "only {count} values were found");
}

#[test]
fn files_exist() {
    let mut count = 0;
    for command in commands() {
        for file in command.files() {
            assert!(root().join(file).exists(), "{file} in {command}");
            count += 1;
        }
    }
    assert!(count > 30, "only {count} files were found");
}

/// Scripts and folders have moved: the changelog is not read again.
#[test]
fn files_that_a_text_names_exist() {
    let is_part = |char: char| char.is_ascii_alphanumeric() || "/._-".contains(char);
    let mut count = 0;
    for document in all_documents() {
        let text = fs::read_to_string(&document).unwrap();
        for folder in ["`hack/", "`deploy/", "`config/"] {
            for (start, _) in text.match_indices(folder) {
                let name = text[start + 1..].split(|char: char| !is_part(char)).next().unwrap();
                assert!(root().join(name).exists(), "{name} in {}", document.display());
                count += 1;
            }
        }
    }
    assert!(count > 60, "only {count} files were found");
}

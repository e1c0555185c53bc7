//! The texts of the input: files, directories, stdin.

use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

/// The file name that stands for stdin.
const STDIN: &str = "-";
/// The files of a directory that are read, as kubectl does (`resource.FileExtensions`).
const EXTENSIONS: [&str; 3] = ["json", "yaml", "yml"];

/// One text of the input.
#[derive(Debug)]
pub struct Source {
    /// The file as it was named; `stdin` for stdin.
    pub name: String,
    /// Its content.
    pub text: String,
}

/// Reads what `-f` names, in that order. Files of a directory are sorted by path.
///
/// # Errors
/// One line that begins with the file.
pub fn read(names: &[String], recursive: bool) -> Result<Vec<Source>, String> {
    let mut sources = Vec::new();
    for name in names {
        if name == STDIN {
            let mut bytes = Vec::new();
            io::stdin().read_to_end(&mut bytes).map_err(|error| format!("stdin: cannot read: {error}"))?;
            sources.push(source("stdin".to_owned(), bytes)?);
            continue;
        }
        let path = Path::new(name);
        let files = if path.is_dir() { files_of(path, recursive)? } else { vec![path.to_owned()] };
        for file in files {
            let bytes = fs::read(&file).map_err(|error| unreadable(&file, &error))?;
            sources.push(source(file.display().to_string(), bytes)?);
        }
    }
    Ok(sources)
}

fn source(name: String, bytes: Vec<u8>) -> Result<Source, String> {
    match String::from_utf8(bytes) {
        Ok(text) => {
            // Windows' editors begin files with a mark that YAML allows and JSON does not.
            let text = match text.strip_prefix('\u{feff}') {
                Some(rest) => rest.to_owned(),
                None => text,
            };
            Ok(Source { name, text })
        }
        Err(error) => {
            let valid = error.utf8_error().valid_up_to();
            Err(format!("{name}: not UTF-8 at byte {}", valid + 1))
        }
    }
}

/// The manifests of a directory.
fn files_of(directory: &Path, recursive: bool) -> Result<Vec<PathBuf>, String> {
    let mut files = Vec::new();
    let mut directories = vec![directory.to_owned()];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(&directory).map_err(|error| unreadable(&directory, &error))? {
            let path = entry.map_err(|error| unreadable(&directory, &error))?.path();
            // A link to a directory is not followed, so that a circle of links has an end.
            if path.is_dir() {
                if recursive && !path.is_symlink() {
                    directories.push(path);
                }
            } else if path.extension().is_some_and(|found| EXTENSIONS.iter().any(|known| found == *known)) {
                files.push(path);
            }
        }
    }
    if files.is_empty() {
        let more = if recursive { "" } else { "; -R reads its subdirectories too" };
        return Err(format!("{}: no files that end in .json, .yaml or .yml{more}", directory.display()));
    }
    files.sort();
    Ok(files)
}

fn unreadable(path: &Path, error: &io::Error) -> String {
    format!("{}: cannot read: {error}", path.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(found: &[Source], directory: &Path) -> Vec<String> {
        let relative =
            |source: &Source| Path::new(&source.name).strip_prefix(directory).unwrap().display().to_string();
        found.iter().map(relative).collect()
    }

    #[test]
    fn directories_are_read_in_order_and_by_extension() {
        let directory = tempfile::tempdir().unwrap();
        fs::create_dir(directory.path().join("a")).unwrap();
        for file in ["b.yaml", "a.json", "a/c.yml", "README.md"] {
            fs::write(directory.path().join(file), "x: 1").unwrap();
        }
        let name = vec![directory.path().display().to_string()];
        assert_eq!(names(&read(&name, false).unwrap(), directory.path()), ["a.json", "b.yaml"]);
        assert_eq!(names(&read(&name, true).unwrap(), directory.path()), ["a/c.yml", "a.json", "b.yaml"]);
    }

    #[test]
    fn what_cannot_be_read_is_named() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name).display().to_string();
        let error = |name: &str| read(&[path(name)], false).unwrap_err();
        assert!(error("missing.yaml").starts_with(&path("missing.yaml")), "{}", error("missing.yaml"));
        assert!(error("").contains("no files that end in .json, .yaml or .yml; -R"), "{}", error(""));
        fs::write(directory.path().join("latin.yaml"), b"a: \xe4").unwrap();
        assert!(error("latin.yaml").ends_with("latin.yaml: not UTF-8 at byte 4"));
    }

    #[test]
    fn a_byte_order_mark_is_dropped() {
        assert_eq!(source("a".to_owned(), b"\xef\xbb\xbf{}".to_vec()).unwrap().text, "{}");
    }
}

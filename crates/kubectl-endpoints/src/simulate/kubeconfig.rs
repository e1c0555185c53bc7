//! The kubeconfig of `--serve`: a file that only its user can read, and that was not there before.

use std::fs::{self, OpenOptions, Permissions};
use std::io::{self, ErrorKind, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use tempfile::TempDir;

/// A file for kubectl, which is removed at the end.
#[derive(Debug)]
pub(crate) struct Kubeconfig {
    path: PathBuf,
    /// The directory that was made for it, which is removed after it.
    _directory: Option<TempDir>,
}

impl Kubeconfig {
    /// Writes a new file, by default in a new directory among the temporary ones. In that place other users can make files
    /// and links of any name that they guess.
    ///
    /// # Errors
    /// A line, also if the file exists.
    pub(crate) fn create(path: Option<&Path>, text: &str) -> Result<Self, String> {
        let (path, directory) = if let Some(path) = path {
            (std::path::absolute(path).unwrap_or(path.to_owned()), None)
        } else {
            // Nobody else may enter it.
            let own = Permissions::from_mode(0o700);
            let directory = tempfile::Builder::new().prefix("simulate-").permissions(own).tempdir();
            let directory = directory
                .map_err(|error| format!("cannot create a directory for the kubeconfig: {error}"))?;
            (directory.path().join("kubeconfig"), Some(directory))
        };
        let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path);
        let mut file = file.map_err(|error| refusal(&path, &error))?;
        let kubeconfig = Self { path, _directory: directory };
        file.write_all(text.as_bytes()).map_err(|error| refusal(&kubeconfig.path, &error))?;
        Ok(kubeconfig)
    }

    /// The path of the file.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

fn refusal(path: &Path, error: &io::Error) -> String {
    let path = path.display();
    match error.kind() {
        ErrorKind::AlreadyExists => {
            format!("--write-kubeconfig: {path} exists, and would be removed at the end: name a new file")
        }
        _ => format!("--write-kubeconfig: cannot write {path}: {error}"),
    }
}

impl Drop for Kubeconfig {
    fn drop(&mut self) {
        // If it is gone already, so much the better.
        let _ = fs::remove_file(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::symlink_metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn only_the_user_can_read_it_and_nothing_is_left_of_it() {
        let file = Kubeconfig::create(None, "text").unwrap();
        let (path, directory) = (file.path().to_owned(), file.path().parent().unwrap().to_owned());
        assert_eq!((mode(&path), mode(&directory)), (0o600, 0o700));
        assert_eq!(fs::read_to_string(&path).unwrap(), "text");
        drop(file);
        assert!(!directory.exists());
    }

    #[test]
    fn a_file_or_link_that_is_there_is_refused_and_stays() {
        let directory = tempfile::tempdir().unwrap();
        let own = directory.path().join("config");
        fs::write(&own, "mine").unwrap();
        let (link, dangling) = (directory.path().join("link"), directory.path().join("dangling"));
        symlink(&own, &link).unwrap();
        symlink(directory.path().join("nowhere"), &dangling).unwrap();
        for path in [&own, &link, &dangling] {
            let error = Kubeconfig::create(Some(path), "text").unwrap_err();
            let expected = format!("--write-kubeconfig: {} exists", path.display());
            assert!(error.starts_with(&expected), "{error}");
            assert!(fs::symlink_metadata(path).is_ok(), "{}", path.display());
        }
        assert_eq!(fs::read_to_string(&own).unwrap(), "mine");
        assert!(!directory.path().join("nowhere").exists());
        let missing = Kubeconfig::create(Some(&directory.path().join("no/file")), "text").unwrap_err();
        assert!(missing.contains("cannot write"), "{missing}");
    }
}

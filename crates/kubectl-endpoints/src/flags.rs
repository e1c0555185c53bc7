//! Flags that commands share, by kubectl's names: the cluster, and the objects to read in it or in files.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgMatches, Args, Command, FromArgMatches};
use cli_runtime::usage::{Usage, matches};
use go_text::duration::parse_go_duration;
use kube::config::AuthInfo;

/// The cluster.
#[derive(Args, Clone, Debug, Default, PartialEq, Eq)]
#[command(next_help_heading = "Objects to read")]
pub(crate) struct ClusterFlags {
    /// Kubeconfig of the cluster; by default the files of $KUBECONFIG, else ~/.kube/config, else the cluster that this runs in
    #[arg(long, value_name = "FILE")]
    pub(crate) kubeconfig: Option<PathBuf>,
    /// Context of the kubeconfig; by default the current one
    #[arg(long, value_name = "NAME")]
    pub(crate) context: Option<String>,
    /// User to impersonate, which needs the permission to do so
    #[arg(long = "as", value_name = "USER")]
    pub(crate) user: Option<String>,
    /// Group to impersonate; may be repeated
    #[arg(long = "as-group", value_name = "GROUP")]
    pub(crate) groups: Vec<String>,
    /// Longest wait for a list, such as 5s or 5; 0 means no limit
    #[arg(long, value_name = "DURATION", value_parser = request_timeout)]
    pub(crate) request_timeout: Option<Duration>,
}

impl ClusterFlags {
    /// Checks the flags together.
    ///
    /// # Errors
    /// A line about a flag that needs another one.
    pub(crate) fn check(&self) -> Result<(), String> {
        need("--as", self.user.is_some(), &[("--as-group", !self.groups.is_empty())])
    }

    /// Overrides whom the user of a kubeconfig impersonates, as kubectl does: what no flag gives stays.
    pub(crate) fn impersonate(&self, user: &mut AuthInfo) {
        if let Some(name) = self.user.as_ref().filter(|name| !name.is_empty()) {
            user.impersonate = Some(name.clone());
        }
        if !self.groups.is_empty() {
            user.impersonate_groups = Some(self.groups.clone());
        }
    }

    /// The words for a command of kubectl about the same cluster.
    pub(crate) fn words(&self) -> Vec<String> {
        let kubeconfig = self.kubeconfig.as_ref().map(|file| format!("--kubeconfig={}", file.display()));
        let context = self.context.as_ref().map(|name| format!("--context={name}"));
        let user = self.user.as_ref().map(|name| format!("--as={name}"));
        let groups = self.groups.iter().map(|name| format!("--as-group={name}"));
        kubeconfig.into_iter().chain(context).chain(user).chain(groups).collect()
    }

    /// `kubectl` with these words, for a shell.
    pub(crate) fn kubectl(&self) -> String {
        self.words().iter().fold("kubectl".to_owned(), |line, word| line + " " + &quoted(word))
    }
}

/// A word for a shell.
fn quoted(word: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_=@%+:,./".contains(&byte);
    if word.bytes().all(is_plain) { word.to_owned() } else { format!("'{}'", word.replace('\'', r"'\''")) }
}

/// A number alone is one of seconds, as for kubectl.
fn request_timeout(text: &str) -> Result<Duration, String> {
    match text.parse() {
        Ok(seconds) => Ok(Duration::from_secs(seconds)),
        Err(_) => parse_go_duration(text),
    }
}

/// The objects to read.
#[derive(Args, Clone, Debug, Default, PartialEq, Eq)]
#[command(next_help_heading = "Objects to read")]
pub(crate) struct Target {
    #[command(flatten)]
    pub(crate) cluster: ClusterFlags,
    /// Namespace to read, for which permissions in it are enough; by default that of the context, and with -f all
    #[arg(short, long)]
    pub(crate) namespace: Option<String>,
    /// Read all namespaces
    #[arg(short = 'A', long)]
    pub(crate) all_namespaces: bool,
    /// File or directory with objects in YAML or JSON instead of a cluster, or - for stdin; may be repeated. Dumps are read too:
    /// kubectl get services,pods,nodes,endpoints,endpointslices,namespaces -A -o yaml
    #[arg(short = 'f', long = "filename", value_name = "FILE|DIRECTORY|-")]
    pub(crate) files: Vec<String>,
    /// Read subdirectories too
    #[arg(short = 'R', long)]
    pub(crate) recursive: bool,
}

impl Target {
    /// All namespaces of a cluster.
    pub(crate) fn all(cluster: ClusterFlags) -> Self {
        Self { cluster, all_namespaces: true, ..Self::default() }
    }

    /// Checks the flags together.
    ///
    /// # Errors
    /// A line about flags that exclude each other.
    pub(crate) fn check(&self) -> Result<(), String> {
        self.cluster.check()?;
        exclude("-n", self.namespace.is_some(), &[("-A", self.all_namespaces)])?;
        if self.files.iter().filter(|file| *file == "-").count() > 1 {
            return Err("-f names stdin twice".to_owned());
        }
        if self.cluster != ClusterFlags::default() && !self.files.is_empty() {
            return Err(
                "-f and the flags of a cluster (--kubeconfig, --context) exclude each other".to_owned()
            );
        }
        Ok(())
    }
}

/// Fails for the first of these flags that is given, unless the one is that it needs.
pub(crate) fn need(needed: &str, is_given: bool, flags: &[(&str, bool)]) -> Result<(), String> {
    let given = flags.iter().find(|(_, is_given)| *is_given).filter(|_| !is_given);
    given.map_or(Ok(()), |(flag, _)| Err(format!("{flag} needs {needed}")))
}

/// Fails for the first of these flags that is given together with one that excludes it.
pub(crate) fn exclude(one: &str, is_given: bool, flags: &[(&str, bool)]) -> Result<(), String> {
    let given = flags.iter().find(|(_, is_given)| *is_given).filter(|_| is_given);
    given.map_or(Ok(()), |(flag, _)| Err(format!("{one} and {flag} exclude each other")))
}

/// Reads the words after the name of a command.
///
/// # Errors
/// The help that was asked for, or a line about the word that is wrong.
pub(crate) fn parse<F: FromArgMatches>(command: Command, words: &[OsString]) -> Result<F, Usage> {
    let matches = without_empty(matches(command, words)?, &["namespace", "context", "user"]);
    F::from_arg_matches(&matches).map_err(|error| Usage::Error(error.to_string()))
}

/// Leaves out those of these flags whose text is empty, as kubectl does.
pub(crate) fn without_empty(mut matches: ArgMatches, flags: &[&str]) -> ArgMatches {
    for flag in flags {
        let given = matches.try_get_one::<String>(flag).ok().flatten();
        if given.is_some_and(String::is_empty) {
            // It is there, and a text.
            let _ = matches.try_remove_one::<String>(flag);
        }
    }
    matches
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_replace_whom_a_kubeconfig_impersonates_and_no_more() {
        let flags = |user: &str, groups: &[&str]| ClusterFlags {
            user: Some(user.to_owned()),
            groups: groups.iter().map(ToString::to_string).collect(),
            ..ClusterFlags::default()
        };
        for (flags, expected) in [
            (ClusterFlags::default(), ("ann", "ops")),
            (flags("", &[]), ("ann", "ops")),
            (flags("bob", &[]), ("bob", "ops")),
            (flags("bob", &["dev"]), ("bob", "dev")),
        ] {
            let mut user = AuthInfo {
                impersonate: Some("ann".to_owned()),
                impersonate_groups: Some(vec!["ops".to_owned()]),
                ..AuthInfo::default()
            };
            flags.impersonate(&mut user);
            let groups = user.impersonate_groups.unwrap();
            assert_eq!(
                (user.impersonate.as_deref(), &groups[..]),
                (Some(expected.0), &[expected.1.to_owned()][..])
            );
        }
    }
}

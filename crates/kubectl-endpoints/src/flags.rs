//! Flags that all diagnoses share: the objects to read, by kubectl's names.

use std::path::PathBuf;

use clap::builder::ValueParser;
use clap::{Arg, ArgAction, ArgMatches};

/// The heading of these flags in `--help`.
const HEADING: &str = "Objects to read";

/// The objects to read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Target {
    pub(crate) kubeconfig: Option<PathBuf>,
    pub(crate) context: Option<String>,
    pub(crate) namespace: Option<String>,
    pub(crate) all_namespaces: bool,
    /// Files, folders, or `-`; empty for a cluster.
    pub(crate) files: Vec<String>,
    pub(crate) recursive: bool,
}

impl Target {
    /// All namespaces of the cluster that the flags `--kubeconfig` and `--context` name.
    pub(crate) fn of_cluster(matches: &ArgMatches) -> Self {
        Self {
            kubeconfig: matches.get_one("kubeconfig").cloned(),
            context: matches.get_one("context").cloned(),
            namespace: None,
            all_namespaces: true,
            files: Vec::new(),
            recursive: false,
        }
    }
}

/// The flags.
pub(crate) fn args() -> Vec<Arg> {
    let flag = |name: &'static str| Arg::new(name).long(name).help_heading(HEADING);
    let switch = |name| flag(name).action(ArgAction::SetTrue);
    vec![
        flag("kubeconfig").value_name("FILE").value_parser(ValueParser::path_buf()).help(
            "Kubeconfig of the cluster; by default the files of $KUBECONFIG, else ~/.kube/config, else the cluster that \
             this runs in",
        ),
        flag("context").value_name("NAME").help("Context of the kubeconfig; by default the current one"),
        flag("namespace").short('n').value_name("NAMESPACE").help(
            "Namespace to read, for which rights in it are enough; by default that of the context, and with -f all",
        ),
        switch("all-namespaces").short('A').help("Read all namespaces"),
        flag("filename").short('f').value_name("FILE|FOLDER|-").action(ArgAction::Append).help(
            "File or folder with objects in YAML or JSON instead of a cluster, or - for stdin; may be repeated. Dumps are \
             read too: kubectl get services,pods,nodes,endpoints,endpointslices,namespaces -A -o yaml",
        ),
        switch("recursive").short('R').help("Read the folders in folders too"),
    ]
}

/// Reads the flags.
///
/// # Errors
/// A line about flags that exclude each other.
pub(crate) fn target(matches: &ArgMatches) -> Result<Target, String> {
    let text = |name: &str| matches.get_one::<String>(name).cloned();
    let target = Target {
        kubeconfig: matches.get_one("kubeconfig").cloned(),
        context: text("context"),
        namespace: text("namespace"),
        all_namespaces: matches.get_flag("all-namespaces"),
        files: matches.get_many("filename").into_iter().flatten().cloned().collect(),
        recursive: matches.get_flag("recursive"),
    };
    if target.namespace.is_some() && target.all_namespaces {
        return Err("-n and -A exclude each other".to_owned());
    }
    if target.files.iter().filter(|file| *file == "-").count() > 1 {
        return Err("-f names stdin twice".to_owned());
    }
    let of_cluster = target.kubeconfig.is_some() || target.context.is_some();
    if of_cluster && !target.files.is_empty() {
        return Err("-f and the flags of a cluster (--kubeconfig, --context) exclude each other".to_owned());
    }
    Ok(target)
}

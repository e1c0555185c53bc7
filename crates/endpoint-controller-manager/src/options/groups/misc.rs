//! Miscellaneous and global flags.

use kube_api::server_url;

use crate::options::flag::Flag;
use crate::options::flag::Kind::{Bool, Checked, Parsed, Path};
use crate::options::value_syntax::version_request;

/// The flag that prints the help text.
pub(super) const HELP: &str = "help";

pub(super) const FLAGS: &[Flag] = &[
    Flag::new(
        "kubeconfig",
        "",
        "Kubeconfig file with the address of the API server and the credentials for it; if empty, the in-cluster \
         configuration is used",
        Path(|settings, file| settings.api_server.kubeconfig = file),
    )
    .key("Generic.ClientConnection.kubeconfig"),
    Flag::new(
        "master",
        "",
        "Address of the API server; overrides the one in the kubeconfig",
        Checked(|settings, url| master(url).map(|url| settings.api_server.master = url)),
    )
    .value_name("URL"),
];

pub(super) const GLOBAL: &[Flag] = &[
    Flag::new(
        "version",
        "false",
        "Print the version and exit; --version=raw prints all that is known about it",
        Parsed(|settings, request| version_request(request).map(|request| settings.version = request)),
    )
    .value_name("BOOL")
    .optional_value(),
    Flag::new(HELP, "false", "Print this help and exit", Bool(|_, _| ())).short('h'),
];

/// The address of an API server; none if it is empty.
fn master(text: &str) -> Result<Option<http::Uri>, String> {
    if text.is_empty() {
        return Ok(None);
    }
    let refusal = || format!("{text:?} is not the address of an API server, such as https://10.0.0.1:6443");
    server_url(text).map(Some).ok_or_else(refusal)
}

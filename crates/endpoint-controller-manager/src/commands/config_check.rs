//! `config check`: a configuration file, read as the program would.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::builder::ValueParser;
use clap::{Arg, Command};
use cli_runtime::usage::{Usage, matches};

use crate::options;

/// The word that selects this subcommand.
pub(crate) const NAME: &str = "config";

/// The word after it.
const CHECK: &str = "check";

const ABOUT: &str = "Checks configuration files of kind KubeControllerManagerConfiguration";
const ABOUT_CHECK: &str = "Checks a configuration file as the program does at its start, without a cluster: fields, types, \
                           ranges, and what must agree. Prints the fields that have no effect";

/// The command.
pub(crate) fn command() -> Command {
    let file = Arg::new("file")
        .value_name("FILE")
        .required(true)
        .value_parser(ValueParser::path_buf())
        .help("The file, as for --config");
    let check = Command::new(CHECK)
        .about(ABOUT_CHECK)
        .override_usage("endpoint-controller-manager config check FILE")
        .arg(file);
    Command::new(NAME)
        .about(ABOUT)
        .override_usage("endpoint-controller-manager config check FILE")
        .subcommand_required(true)
        .subcommand(check)
}

/// Runs the subcommand with the words after its name.
pub(crate) fn main(words: &[OsString]) -> ExitCode {
    let matches = match matches(command(), words) {
        Ok(matches) => matches,
        Err(usage) => return usage.report(),
    };
    let check = matches.subcommand_matches(CHECK);
    let Some(file) = check.and_then(|check| check.get_one::<PathBuf>("file")) else {
        return ExitCode::FAILURE;
    };
    checked(file.clone().into_os_string()).report()
}

/// Reads the file. The text names the fields that have no effect.
fn checked(file: OsString) -> Usage {
    let name = file.to_string_lossy().into_owned();
    let mut flag = OsString::from("--config=");
    flag.push(file);
    match options::parse([flag]) {
        Ok(config) => {
            let lines = config.without_effect.iter().map(|field| format!("{field}: has no effect\n"));
            Usage::Print(lines.collect::<String>() + &format!("{name}: valid"))
        }
        Err(usage) => usage,
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn check(text: &str) -> Result<String, String> {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("config.yaml");
        let head = "apiVersion: kubecontrollermanager.config.k8s.io/v1alpha1\nkind: KubeControllerManagerConfiguration\n";
        fs::write(&file, format!("{head}{text}")).unwrap();
        let shown = |text: String| text.replace(&file.display().to_string(), "FILE");
        result(file.clone().into_os_string()).map(shown).map_err(shown)
    }

    fn result(file: OsString) -> Result<String, String> {
        match checked(file) {
            Usage::Print(text) => Ok(text),
            Usage::Error(message) => Err(message),
        }
    }

    #[test]
    fn a_file_is_valid_or_its_fault_is_named() {
        let sizes =
            |size: &str| check(&format!("EndpointSliceController: {{MaxEndpointsPerSlice: {size}}}\n"));
        assert_eq!(sizes("500"), Ok("FILE: valid".to_owned()));
        assert!(sizes("0").unwrap_err().contains("EndpointSliceController.MaxEndpointsPerSlice"));
        assert!(check("Sizes: 1\n").unwrap_err().contains("Sizes: unknown field"));
        assert_eq!(
            check("JobController: {ConcurrentJobSyncs: 5}\n"),
            Ok("FILE: JobController: has no effect\nFILE: valid".to_owned())
        );
        assert!(result("no-such-file".into()).unwrap_err().contains("no-such-file"));
    }
}

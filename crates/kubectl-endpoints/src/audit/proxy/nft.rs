//! The program `nft`, which kube-proxy runs too.

use std::io;
use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::process::Command;
use tokio::time::timeout;

use super::rules::Rules;

/// The longest time for one listing.
const WAIT: Duration = Duration::from_secs(60);
/// The most bytes that are read of a listing: a thousand for each of 250,000 endpoints.
const MAX: u64 = 256 << 20;

/// The rules of kube-proxy for a family, `ip` or `ip6`; none if it has no table.
///
/// # Errors
/// A line about what failed, and what to do.
pub(super) async fn rules(family: &str) -> Result<Option<Rules>, String> {
    let args = ["--json", "list", "table", family, "kube-proxy"];
    let listed = timeout(WAIT, run("nft", &args)).await;
    let listed = listed.unwrap_or_else(|_| Err(format!("nft is not done after {} s", WAIT.as_secs())))?;
    match listed {
        Ok(text) => Rules::parse(&text)
            .map(Some)
            .map_err(|error| format!("cannot read the table {family} kube-proxy as nft lists it: {error}")),
        Err(said) if said.contains("No such file or directory") => Ok(None),
        Err(said) => {
            let line = said.lines().next().unwrap_or("nft says nothing");
            Err(format!("nft cannot list the table {family} kube-proxy: {line}; run this on a node, as root"))
        }
    }
}

/// The output of a program; its error output if it fails.
async fn run(program: &str, args: &[&str]) -> Result<Result<String, String>, String> {
    let failed = |error: io::Error| match error.kind() {
        io::ErrorKind::NotFound => {
            format!("{program} is not on PATH; install nftables, and run this on a node")
        }
        _ => format!("cannot run {program}: {error}"),
    };
    let mut command = Command::new(program);
    command.args(args).env("LC_ALL", "C").kill_on_drop(true);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(failed)?;
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let (stdout, stderr) = tokio::try_join!(read(stdout), read(stderr)).map_err(failed)?;
    let status = child.wait().await.map_err(failed)?;
    Ok(if status.success() { Ok(stdout) } else { Err(stderr) })
}

async fn read(pipe: Option<impl AsyncRead + Unpin>) -> io::Result<String> {
    let mut text = String::new();
    if let Some(pipe) = pipe {
        pipe.take(MAX).read_to_string(&mut text).await?;
    }
    if u64::try_from(text.len()).is_ok_and(|length| length < MAX) {
        return Ok(text);
    }
    Err(io::Error::other(format!("it prints more than {MAX} bytes")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn output_and_failures_are_told_apart() {
        assert_eq!(run("sh", &["-c", "echo out; echo err >&2"]).await, Ok(Ok("out\n".to_owned())));
        assert_eq!(run("sh", &["-c", "echo out; echo err >&2; exit 1"]).await, Ok(Err("err\n".to_owned())));
        let missing = run("nft-that-is-missing", &[]).await.unwrap_err();
        assert!(missing.contains("is not on PATH"), "{missing}");
    }
}

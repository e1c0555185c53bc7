//! Child processes that never outlive the test, whatever ends it.
//!
//! Dropping a [`Process`] kills it. If the test process itself is killed, the kernel kills the children
//! (`setpriv --pdeathsig`, where util-linux is installed).

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, PipeReader, PipeWriter, Read as _, Seek, SeekFrom, Write as _};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::{Mutex, OnceLock, mpsc};
use std::time::Duration;

use crate::plant;
use crate::wait::{self, LIMIT};

/// A running program whose output goes to a log file.
#[derive(Debug)]
pub struct Process {
    name: &'static str,
    child: Child,
    log: PathBuf,
    /// The length of the log at the start, which is what earlier processes of this name wrote.
    before: u64,
    /// The read end of stderr's pipe, which is never read. If it were closed, writes would fail instead of blocking.
    _unread: Option<PipeReader>,
}

/// The environment of a process, besides its arguments.
#[derive(Debug, Clone, Default)]
pub struct Environment {
    /// Variables on top of those of the test.
    pub variables: Vec<(String, String)>,
    /// Replaces the log file as stderr by a pipe that is nearly full and that nothing reads.
    pub stderr_is_stuck: bool,
}

/// A pipe with capacity for one page, which is a few lines of a log.
fn stuck_pipe() -> (PipeReader, PipeWriter) {
    /// Capacity of a Linux pipe (pipe(7)) without the last page.
    const NEARLY_FULL: usize = 65_536 - 4_096;
    let (reader, mut writer) = io::pipe().expect("a pipe");
    writer.write_all(&vec![b'\n'; NEARLY_FULL]).expect("filling a pipe");
    (reader, writer)
}

/// Returns a file whose lines arrive in the log later than any wait lasts.
fn written_late(log: File) -> File {
    let (reader, writer) = io::pipe().expect("a pipe");
    let mut late = dies_with_us(Path::new("/bin/sh"));
    late.args(["-c", "sleep 600; exec cat"]).stdin(reader).stdout(log);
    let mut late = spawn(late).expect("starting a shell");
    std::thread::spawn(move || late.wait());
    File::from(OwnedFd::from(writer))
}

impl Process {
    /// Starts `program` with its output appended to `<folder>/<name>.log`.
    pub fn start(
        name: &'static str,
        program: &Path,
        folder: &Path,
        args: impl IntoIterator<Item = impl Into<OsString>>,
    ) -> Self {
        Self::start_in(name, program, folder, args, &Environment::default())
    }

    /// Starts `program` in an environment of its own.
    pub fn start_in(
        name: &'static str,
        program: &Path,
        folder: &Path,
        args: impl IntoIterator<Item = impl Into<OsString>>,
        environment: &Environment,
    ) -> Self {
        let log = folder.join(format!("{name}.log"));
        let output = File::options().create(true).append(true).open(&log).expect("opening a log file");
        let before = output.metadata().expect("the length of a log file").len();
        let output = if plant::is_planted(plant::LATE_LINE) { written_late(output) } else { output };
        let mut command = dies_with_us(program);
        command
            .args(args.into_iter().map(Into::into))
            .current_dir(folder)
            .envs(environment.variables.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .stdout(output.try_clone().expect("duplicating a file handle"));
        let unread = if environment.stderr_is_stuck {
            let (reader, writer) = stuck_pipe();
            command.stderr(writer);
            Some(reader)
        } else {
            command.stderr(output);
            None
        };
        let child = spawn(command).unwrap_or_else(|error| panic!("starting {}: {error}", program.display()));
        Self { name, child, log, before, _unread: unread }
    }

    /// The name of the program.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// The process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// The file that holds the output.
    pub fn log(&self) -> &Path {
        &self.log
    }

    /// The exit status, once it has exited.
    pub fn exited(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().expect("asking for a child's status")
    }

    /// Sends a signal by name, such as `TERM`, to a process that is still running.
    pub fn signal(&mut self, signal: &str) {
        // The child is ours and not yet reaped, so that its id cannot name another process.
        if self.exited().is_none() {
            let status = Command::new("kill").arg(format!("-{signal}")).arg(self.id().to_string()).status();
            assert!(status.is_ok_and(|s| s.success()), "kill -{signal} of {}", self.name);
        }
    }

    /// Stops it with SIGSTOP until it gets SIGCONT, and waits until all of its threads have stopped.
    ///
    /// A request may be half sent: the server refuses it later, and has an entry in the audit log that is
    /// [no write](crate::audit::Request::is_write).
    pub async fn freeze(&mut self) {
        self.signal("STOP");
        let what = format!("{} to be frozen", self.name);
        wait::until(&what, LIMIT, || {
            let frozen = self.alive().and_then(|()| self.is_frozen());
            async { frozen }
        })
        .await;
    }

    /// Checks that the kernel has stopped all threads.
    fn is_frozen(&self) -> Result<(), String> {
        let threads =
            std::fs::read_dir(format!("/proc/{}/task", self.id())).map_err(|error| error.to_string())?;
        // A thread that has ended meanwhile has no state.
        let mut states = threads.flatten().filter_map(|thread| state(&thread.path().join("stat")));
        match states.find(|state| !matches!(state, 'T' | 'Z' | 'X')) {
            None => Ok(()),
            Some(state) => Err(format!("a thread is in state {state}")),
        }
    }

    /// Waits until its log has a line with this text. Returns the line.
    ///
    /// # Panics
    /// If the line does not come, or the process has ended without it.
    pub async fn says(&mut self, text: &str) -> String {
        self.says_all(&[text]).await
    }

    /// The same for a line with all of these texts.
    pub async fn says_all(&mut self, texts: &[&str]) -> String {
        let what = format!("a line with {texts:?} in the log of {}", self.name);
        wait::until(&what, LIMIT, || {
            // The log is complete when the process has ended.
            let alive = self.alive();
            let line = self.line(texts);
            assert!(line.is_some() || alive.is_ok(), "{what}: {}", alive.unwrap_err());
            let line = line.ok_or_else(|| self.tail());
            async { line }
        })
        .await
    }

    /// The first complete line since the start with all of these texts, if there is one now.
    pub fn line(&self, texts: &[&str]) -> Option<String> {
        let text = read_from(&self.log, self.before)
            .unwrap_or_else(|error| panic!("{}: {error}", self.log.display()));
        let mut lines = text.split_inclusive('\n').filter_map(|line| line.strip_suffix('\n'));
        lines.find(|line| texts.iter().all(|text| line.contains(text))).map(str::to_owned)
    }

    /// Waits for the end; panics with the tail of the log if it does not come.
    pub async fn ended(&mut self, limit: Duration) -> ExitStatus {
        let what = format!("end of {}", self.name);
        wait::until(&what, limit, || {
            let status = self.exited().ok_or_else(|| self.tail());
            async { status }
        })
        .await
    }

    /// Kills it at once.
    pub fn kill(&mut self) {
        // An error means that it has already exited; waiting reaps it in both cases.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Checks that the process still runs. Otherwise the error has its status and the tail of its log.
    pub fn alive(&mut self) -> Result<(), String> {
        match self.exited() {
            None => Ok(()),
            Some(status) => Err(format!("{} has ended ({status}); {}", self.name, self.tail())),
        }
    }

    /// The last lines of the log, for a message.
    pub fn tail(&self) -> String {
        let text = read_tail(&self.log, 6_000).unwrap_or_else(|error| error.to_string());
        format!("end of {}:\n{text}", self.log.display())
    }

    /// Resource usage as the kernel accounts it.
    pub fn usage(&self) -> Usage {
        self.usage_if_running().unwrap_or_else(|| panic!("reading /proc/{} of {}", self.id(), self.name))
    }

    /// The same; none if it has exited meanwhile.
    pub fn usage_if_running(&self) -> Option<Usage> {
        usage(self.id())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

/// CPU time and memory of a process since its start.
#[derive(Debug, Clone, Copy)]
pub struct Usage {
    /// User and system time.
    pub cpu: Duration,
    /// Resident memory now, in bytes.
    pub rss: u64,
    /// The most resident memory it ever had, in bytes.
    pub peak_rss: u64,
}

impl std::iter::Sum for Usage {
    fn sum<I: Iterator<Item = Self>>(usages: I) -> Self {
        usages.fold(Self { cpu: Duration::ZERO, rss: 0, peak_rss: 0 }, |sum, it| Self {
            cpu: sum.cpu + it.cpu,
            rss: sum.rss + it.rss,
            peak_rss: sum.peak_rss + it.peak_rss,
        })
    }
}

/// The usage of this process itself.
pub fn own_usage() -> Usage {
    usage(std::process::id()).expect("reading /proc of this process")
}

/// Usage of a process as the kernel accounts it; none if it has exited.
fn usage(id: u32) -> Option<Usage> {
    let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    // The second field is the command in parentheses and may hold anything; utime and stime are the 14th and
    // 15th, in ticks of 10 ms (USER_HZ, fixed by the kernel's ABI on all common architectures).
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let ticks = fields.get(11)?.parse::<u64>().ok()? + fields.get(12)?.parse::<u64>().ok()?;
    let status = std::fs::read_to_string(format!("/proc/{id}/status")).ok()?;
    let kilobytes = |key: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(key))?;
        line.trim().trim_end_matches(" kB").parse::<u64>().ok()
    };
    Some(Usage {
        cpu: Duration::from_millis(ticks * 10),
        rss: kilobytes("VmRSS:")? * 1024,
        peak_rss: kilobytes("VmHWM:")? * 1024,
    })
}

/// The state of a process or thread, by its `stat` file (proc(5)); none if it has ended.
fn state(stat: &Path) -> Option<char> {
    let stat = std::fs::read_to_string(stat).ok()?;
    stat.rsplit_once(") ")?.1.chars().next()
}

fn read_tail(path: &Path, bytes: u64) -> io::Result<String> {
    let length = std::fs::metadata(path)?.len();
    read_from(path, length.saturating_sub(bytes))
}

fn read_from(path: &Path, start: u64) -> io::Result<String> {
    let mut file = File::open(path)?;
    file.seek(SeekFrom::Start(start))?;
    let mut text = Vec::new();
    file.read_to_end(&mut text)?;
    Ok(String::from_utf8_lossy(&text).into_owned())
}

/// A command that runs `program`, killed by the kernel when the thread that starts it ends.
pub(crate) fn dies_with_us(program: &Path) -> Command {
    static SETPRIV: OnceLock<bool> = OnceLock::new();
    let available = *SETPRIV.get_or_init(|| {
        let probe = Command::new("setpriv").args(["--pdeathsig", "KILL", "--", "true"]).output();
        probe.is_ok_and(|output| output.status.success())
    });
    if available {
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "KILL", "--"]).arg(program);
        command
    } else {
        Command::new(program)
    }
}

/// Runs `program` to its end and returns its output.
///
/// # Panics
/// If it does not end within `limit`.
pub fn output(program: &Path, args: &[&str], limit: Duration) -> Output {
    let mut command = dies_with_us(program);
    command.args(args).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = spawn(command).unwrap_or_else(|error| panic!("starting {}: {error}", program.display()));
    let id = child.id().to_string();
    let (ended, output) = mpsc::channel();
    // Reads meanwhile: a full pipe would block the program.
    std::thread::spawn(move || ended.send(child.wait_with_output()));
    let in_time = output.recv_timeout(limit);
    let is_late = in_time.is_err();
    let output = in_time.or_else(|_| {
        let _ = Command::new("kill").args(["-KILL", &id]).status();
        output.recv()
    });
    let output = output.expect("a thread that waits").expect("reading the output of a child");
    assert!(!is_late, "{args:?} does not end: {}", String::from_utf8_lossy(&output.stderr));
    output
}

type Order = (Command, mpsc::Sender<io::Result<Child>>);

/// Starts a process from a thread that lives as long as the test process: the kernel's "parent" in
/// `pdeathsig` is the thread, and the threads of tests and runtimes come and go.
pub(crate) fn spawn(command: Command) -> io::Result<Child> {
    static SPAWNER: OnceLock<Mutex<mpsc::Sender<Order>>> = OnceLock::new();
    let spawner = SPAWNER.get_or_init(|| {
        let (orders, received) = mpsc::channel::<Order>();
        std::thread::spawn(move || {
            for (mut command, reply) in received {
                let _ = reply.send(command.spawn());
            }
        });
        Mutex::new(orders)
    });
    let (reply, child) = mpsc::channel();
    spawner.lock().expect("lock").send((command, reply)).expect("the spawner never ends");
    child.recv().expect("the spawner answers")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(folder: &Path, script: &str) -> Process {
        Process::start("sh", Path::new("/bin/sh"), folder, ["-c", script])
    }

    #[tokio::test]
    async fn a_frozen_process_does_nothing_until_it_continues() {
        let folder = tempfile::tempdir().unwrap();
        let mut process = shell(folder.path(), "while :; do echo line; sleep 0.01; done");
        process.says("line").await;
        process.freeze().await;
        let length = || std::fs::metadata(folder.path().join("sh.log")).unwrap().len();
        let frozen = length();
        process.is_frozen().unwrap();
        assert_eq!(length(), frozen);
        process.signal("CONT");
        wait::until("more lines", LIMIT, async || if length() > frozen { Ok(()) } else { Err("none") }).await;
    }

    #[tokio::test]
    async fn only_complete_lines_of_a_process_itself_are_read() {
        let folder = tempfile::tempdir().unwrap();
        shell(folder.path(), "echo one and two").ended(LIMIT).await;
        let mut second = shell(folder.path(), "printf one; read -r never; echo ' and three' ; echo four");
        assert_eq!(second.says_all(&["one", "three"]).await, "one and three");
        assert!(second.ended(LIMIT).await.success());
        assert_eq!(second.says("four").await, "four");
        assert_eq!(second.line(&["two"]), None);
    }

    #[test]
    fn more_output_than_a_pipe_holds_is_read() {
        let output = output(Path::new("seq"), &["100000"], LIMIT);
        assert!(output.status.success() && output.stdout.ends_with(b"\n100000\n"));
    }

    #[tokio::test]
    #[should_panic(expected = "sh has ended")]
    async fn the_end_without_the_line_ends_the_wait() {
        let folder = tempfile::tempdir().unwrap();
        shell(folder.path(), "echo one").says("two").await;
    }
}

//! Runs this program under callgrind.

use std::path::Path;
use std::process::Command;

/// Makes the C library choose its functions for the oldest processor of the target, so that the counts do not depend on
/// this machine's.
const PLAIN_LIBRARY: &str = "glibc.cpu.hwcaps=-AVX512F,-AVX512VL,-AVX512BW,-AVX2,-AVX,-AVX_Fast_Unaligned_Load,\
                             -BMI2,-ERMS,-FSRM,-SSE4_2,-SSE4_1,-SSSE3,-Fast_Unaligned_Copy:\
                             glibc.cpu.x86_non_temporal_threshold=0x1000000";

/// The instructions of one case.
///
/// # Panics
/// If valgrind, the program in `VALGRIND`, can't be run, or fails.
pub(crate) fn count(case: &str) -> u64 {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let out = folder.path().join("callgrind.out");
    let valgrind = std::env::var_os("VALGRIND").unwrap_or_else(|| "valgrind".into());
    let result = Command::new(&valgrind)
        .arg("--tool=callgrind")
        .arg("--collect-atstart=no")
        .arg("--toggle-collect=instruction_counts::measured*")
        .arg(format!("--callgrind-out-file={}", out.display()))
        .arg(std::env::current_exe().expect("the path of this program"))
        .args(["--case", case])
        .env("GLIBC_TUNABLES", PLAIN_LIBRARY)
        .output()
        .unwrap_or_else(|error| panic!("{}: {error}; install valgrind", valgrind.display()));
    assert!(
        result.status.success(),
        "{case} under valgrind: {}\n{}",
        result.status,
        String::from_utf8_lossy(&result.stderr)
    );
    let count = total(&out);
    assert!(count > 0, "{case}: callgrind has seen no call of `measured`");
    count
}

/// The line `totals:` of callgrind's output.
fn total(out: &Path) -> u64 {
    let text = std::fs::read_to_string(out).unwrap_or_else(|error| panic!("{}: {error}", out.display()));
    let line = text.lines().find_map(|line| line.strip_prefix("totals: "));
    line.and_then(|line| line.trim().parse().ok()).expect("a line `totals:` in callgrind's output")
}

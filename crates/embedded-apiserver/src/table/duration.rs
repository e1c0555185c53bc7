//! Durations for people: `HumanDuration` of apimachinery.

use jiff::SignedDuration;

/// Two units at most, fewer the longer it is: `119s`, `9m59s`, `179m`, `7h59m`, `47h`, `7d23h`, `2y1d`.
pub(super) fn human(duration: SignedDuration) -> String {
    const DAYS_A_YEAR: i64 = 365;
    let seconds = duration.as_secs();
    let (minutes, hours) = (seconds / 60, seconds / 3600);
    let (days, years) = (hours / 24, hours / 24 / DAYS_A_YEAR);
    // Clocks of two machines differ.
    if seconds < -1 {
        "<invalid>".to_owned()
    } else if seconds < 0 {
        "0s".to_owned()
    } else if seconds < 2 * 60 {
        format!("{seconds}s")
    } else if minutes < 10 {
        two(minutes, "m", seconds % 60, "s")
    } else if minutes < 3 * 60 {
        format!("{minutes}m")
    } else if hours < 8 {
        two(hours, "h", minutes % 60, "m")
    } else if hours < 48 {
        format!("{hours}h")
    } else if days < 8 {
        two(days, "d", hours % 24, "h")
    } else if days < 2 * DAYS_A_YEAR {
        format!("{days}d")
    } else if years < 8 {
        two(years, "y", days % DAYS_A_YEAR, "d")
    } else {
        format!("{years}y")
    }
}

fn two(large: i64, large_unit: &str, small: i64, small_unit: &str) -> String {
    if small == 0 {
        format!("{large}{large_unit}")
    } else {
        format!("{large}{large_unit}{small}{small_unit}")
    }
}

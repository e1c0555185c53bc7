//! The durations of an election.

use std::time::Duration;

/// The durations of an election, checked for consistency.
///
/// ```
/// use std::time::Duration;
/// use controller_kit::election::Config;
///
/// let seconds = Duration::from_secs;
/// assert_eq!(Config::new(seconds(15), seconds(10), seconds(2))?, Config::default());
/// let error = Config::new(seconds(10), seconds(10), seconds(2)).unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "--leader-elect-lease-duration (10s) must be greater than --leader-elect-renew-deadline (10s)"
/// );
/// # Ok::<(), controller_kit::election::ConfigError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    lease_duration: Duration,
    renew_deadline: Duration,
    retry_period: Duration,
}

/// Inconsistent durations, by their flags.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// A duration of zero.
    #[error("{0} must be greater than zero")]
    Zero(&'static str),
    /// Another process could take the Lease from a leader that still tries to renew it.
    #[error(
        "{LEASE_DURATION} ({lease_duration:?}) must be greater than {RENEW_DEADLINE} ({renew_deadline:?})"
    )]
    LeaseTooShort {
        /// The time others wait for a silent leader.
        lease_duration: Duration,
        /// The time a leader tries to renew.
        renew_deadline: Duration,
    },
    /// A leader would give up before its second try.
    #[error(
        "{RENEW_DEADLINE} ({renew_deadline:?}) must be greater than {RETRY_PERIOD} ({retry_period:?}) times \
         {JITTER_FACTOR}"
    )]
    DeadlineTooShort {
        /// The time a leader tries to renew.
        renew_deadline: Duration,
        /// The time between tries.
        retry_period: Duration,
    },
}

const LEASE_DURATION: &str = "--leader-elect-lease-duration";
const RENEW_DEADLINE: &str = "--leader-elect-renew-deadline";
const RETRY_PERIOD: &str = "--leader-elect-retry-period";
/// client-go's `JitterFactor`.
const JITTER_FACTOR: f64 = 1.2;
/// The least time limit of a request.
const MIN_REQUEST_TIMEOUT: Duration = Duration::from_secs(1);

impl Config {
    /// Checks the rules of client-go's `NewLeaderElector`: all durations are above zero, `lease_duration` is longer
    /// than `renew_deadline`, and that is longer than `retry_period` × 1.2.
    ///
    /// The Lease counts in whole seconds, so `lease_duration` is rounded up there. (client-go rounds down, which makes
    /// 15.8 s shorter than a renew deadline of 15.5 s.)
    pub fn new(
        lease_duration: Duration,
        renew_deadline: Duration,
        retry_period: Duration,
    ) -> Result<Self, ConfigError> {
        let flags = [LEASE_DURATION, RENEW_DEADLINE, RETRY_PERIOD];
        for (flag, duration) in flags.into_iter().zip([lease_duration, renew_deadline, retry_period]) {
            if duration.is_zero() {
                return Err(ConfigError::Zero(flag));
            }
        }
        if lease_duration <= renew_deadline {
            return Err(ConfigError::LeaseTooShort { lease_duration, renew_deadline });
        }
        if renew_deadline.as_secs_f64() <= retry_period.as_secs_f64() * JITTER_FACTOR {
            return Err(ConfigError::DeadlineTooShort { renew_deadline, retry_period });
        }
        Ok(Self { lease_duration, renew_deadline, retry_period })
    }

    /// The lease duration in seconds, as written to the Lease.
    pub(super) fn lease_seconds(&self) -> i32 {
        let seconds = i32::try_from(self.lease_duration.as_secs()).unwrap_or(i32::MAX);
        seconds.saturating_add((self.lease_duration.subsec_nanos() > 0).into())
    }

    /// The time that other processes wait for a silent leader.
    pub fn lease_duration(&self) -> Duration {
        self.lease_duration
    }

    /// The time for which a leader keeps leadership after sending its last successful renewal.
    pub fn renew_deadline(&self) -> Duration {
        self.renew_deadline
    }

    /// The wait of a leader before each renewal.
    pub(super) fn retry_period(&self) -> Duration {
        self.retry_period
    }

    /// The wait of a standby before it reads the Lease again: with jitter, so that standbys spread out, but never
    /// longer than the retry period, so that a release is noticed within it.
    pub(super) fn standby_wait(&self) -> Duration {
        self.retry_period.mul_f64(0.5 + 0.5 * fastrand::f64())
    }

    /// The time limit of a request: a request that hangs must leave time for another
    /// (`resourcelock.NewFromKubeconfig`).
    pub(super) fn request_timeout(&self) -> Duration {
        (self.renew_deadline / 2).max(MIN_REQUEST_TIMEOUT)
    }
}

impl Default for Config {
    /// Upstream's: 15 s, 10 s, 2 s.
    fn default() -> Self {
        let seconds = Duration::from_secs;
        Self { lease_duration: seconds(15), renew_deadline: seconds(10), retry_period: seconds(2) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(lease: u64, renew: u64, retry: u64) -> Result<Config, ConfigError> {
        let milliseconds = Duration::from_millis;
        Config::new(milliseconds(lease), milliseconds(renew), milliseconds(retry))
    }

    #[test]
    fn the_shortest_and_the_longest_durations_are_accepted() {
        assert!(config(15_000, 2401, 2000).is_ok());
        assert!(config(10_001, 10_000, 2000).is_ok());
        assert!(Config::new(Duration::MAX, Duration::MAX / 2, Duration::from_nanos(1)).is_ok(), "no panic");
    }

    #[test]
    fn the_lease_is_never_shorter_than_the_deadline_when_counted_in_seconds() {
        assert_eq!(config(15_000, 10_000, 2000).unwrap().lease_seconds(), 15);
        assert_eq!(config(15_800, 15_500, 2000).unwrap().lease_seconds(), 16);
        assert_eq!(
            config(2, 1, 0).map(|config| config.lease_seconds()),
            Err(ConfigError::Zero(RETRY_PERIOD))
        );
        let longest = Config::new(Duration::MAX, Duration::from_secs(10), Duration::from_secs(2)).unwrap();
        assert_eq!(longest.lease_seconds(), i32::MAX);
    }

    #[test]
    fn a_standby_waits_for_half_to_one_retry_period() {
        let config = Config::default();
        for _ in 0..1000 {
            let wait = config.standby_wait();
            assert!((Duration::from_secs(1)..=Duration::from_secs(2)).contains(&wait), "{wait:?}");
        }
        assert_eq!(config.request_timeout(), Duration::from_secs(5));
    }
}

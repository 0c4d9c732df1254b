//! The resource limits of this process.
//!
//! Any command runs as the same user, so it can lower them with `prlimit`. The program remembers its limits, checks them again
//! after certain errors and signals, and restores what it may: the soft limit up to the hard one. A process with the default
//! actions would be killed by a limit on file sizes or CPU time; this one handles both signals, which an exec resets.

use std::io;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use nix::libc::{SIGXCPU, SIGXFSZ};
use nix::sys::resource::{RLIM_INFINITY, Resource, getrlimit, rlim_t, setrlimit};
use parking_lot::Mutex;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// The time between two warnings: a command can lower a limit again and again.
const QUIET: Duration = Duration::from_secs(5);

/// The limits that a process can fail for.
const WATCHED: [Resource; 10] = [
    Resource::RLIMIT_AS,
    Resource::RLIMIT_CPU,
    Resource::RLIMIT_DATA,
    Resource::RLIMIT_FSIZE,
    Resource::RLIMIT_LOCKS,
    Resource::RLIMIT_MEMLOCK,
    Resource::RLIMIT_NOFILE,
    Resource::RLIMIT_NPROC,
    Resource::RLIMIT_SIGPENDING,
    Resource::RLIMIT_STACK,
];

/// The limits of this process at one moment, soft and hard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnLimits(Vec<(Resource, rlim_t, rlim_t)>);

/// A soft limit that is lower than it was.
#[derive(Debug, PartialEq, Eq)]
pub struct Lowered {
    resource: Resource,
    from: rlim_t,
    to: rlim_t,
    /// The limit after the attempt to restore it.
    now: rlim_t,
}

impl OwnLimits {
    /// Reads the limits of this process.
    pub fn read() -> Self {
        let read = |resource| {
            let (soft, hard) = getrlimit(resource).ok()?;
            Some((resource, soft, hard))
        };
        Self(WATCHED.into_iter().filter_map(read).collect())
    }

    /// Restores soft limits that were lowered, as far as that is allowed. Returns the lowered limits.
    pub fn restore(&self) -> Vec<Lowered> {
        let restore = |(resource, soft, hard): &(Resource, rlim_t, rlim_t)| {
            let (now, most) = getrlimit(*resource).ok()?;
            if now >= *soft {
                return None;
            }
            // Root may raise a hard limit as well.
            let raised = setrlimit(*resource, *soft, *hard)
                .or_else(|_| setrlimit(*resource, (*soft).min(most), most));
            let after = raised.and_then(|()| getrlimit(*resource));
            Some(Lowered {
                resource: *resource,
                from: *soft,
                to: now,
                now: after.map_or(now, |(soft, _)| soft),
            })
        };
        self.0.iter().filter_map(restore).collect()
    }
}

/// The limits that the program began with, and the changes that were logged.
struct Known {
    limits: OwnLimits,
    said: Mutex<Said>,
}

#[derive(Default)]
struct Said {
    lowered: Vec<Lowered>,
    at: Option<Instant>,
}

static KNOWN: OnceLock<Known> = OnceLock::new();

/// Remembers the limits of this process. From now on, exceeding the limit on file sizes or CPU time does not kill the process.
/// Only the Toolhost programs call this: a program that embeds the library handles its own signals.
///
/// # Errors
///
/// If a signal cannot be handled.
///
/// # Panics
///
/// Outside of a tokio runtime with I/O.
pub fn guard() -> io::Result<()> {
    let handled = |number| signal(SignalKind::from_raw(number));
    let signals = [handled(SIGXFSZ)?, handled(SIGXCPU)?];
    KNOWN.get_or_init(|| Known {
        limits: OwnLimits::read(),
        said: Mutex::default(),
    });
    for signal in signals {
        tokio::spawn(follow(signal));
    }
    Ok(())
}

/// Checks the limits whenever the kernel signals that one is exceeded.
async fn follow(mut signal: Signal) {
    while signal.recv().await.is_some() {
        look();
    }
}

/// Checks whether the limits of this process were lowered from outside. If so, restores them as far as that is allowed, and
/// logs it. Does nothing unless [`guard`] was called.
pub fn look() {
    let Some(known) = KNOWN.get() else {
        return;
    };
    let lowered = known.limits.restore();
    if lowered.is_empty() {
        return;
    }
    let mut said = known.said.lock();
    if said.lowered == lowered && said.at.is_some_and(|at| at.elapsed() < QUIET) {
        return;
    }
    said.at = Some(Instant::now());
    for each in &lowered {
        tracing::warn!(
            resource = ?each.resource,
            from = shown(each.from),
            to = shown(each.to),
            now = shown(each.now),
            "a resource limit of this host was lowered from outside, as any command of this user can with prlimit"
        );
    }
    said.lowered = lowered;
}

fn shown(limit: rlim_t) -> String {
    match limit {
        RLIM_INFINITY => "unlimited".into(),
        limit => limit.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lowers a limit that no other test of this process is near.
    #[test]
    fn a_soft_limit_is_restored() {
        let (soft, hard) = getrlimit(Resource::RLIMIT_LOCKS).unwrap();
        let limits = OwnLimits::read();
        assert_eq!(limits.restore(), []);
        setrlimit(Resource::RLIMIT_LOCKS, 7, hard).unwrap();
        let lowered = limits.restore();
        let expected = Lowered {
            resource: Resource::RLIMIT_LOCKS,
            from: soft,
            to: 7,
            now: soft,
        };
        assert_eq!(lowered, [expected]);
        assert_eq!(getrlimit(Resource::RLIMIT_LOCKS).unwrap(), (soft, hard));
    }
}

//! Metrics of the process under the names that the client libraries of Prometheus use.

use std::fmt;

use nix::sys::resource::{Resource, getrlimit};
use nix::unistd::{SysconfVar, sysconf};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Registry;

/// Reads the state of this process whenever a client asks for the metrics.
#[derive(Debug)]
struct Process {
    /// The clock ticks in a second, and the bytes of a page.
    ticks: f64,
    page: f64,
    /// When the machine was started, in seconds since 1970.
    boot: Option<f64>,
}

/// The fields of `/proc/self/stat` that metrics use.
#[derive(Debug, PartialEq)]
struct Stat {
    /// In ticks, in the program and in the kernel.
    cpu: f64,
    threads: f64,
    /// In ticks since the machine was started.
    started: f64,
    /// In bytes.
    virtual_memory: f64,
    /// In pages.
    resident: f64,
}

/// Adds the metrics of this process. Their names have no prefix.
pub(super) fn register(registry: &mut Registry) {
    #[expect(clippy::cast_precision_loss, reason = "both are small")]
    let of = |variable| sysconf(variable).ok().flatten().map(|value| value as f64);
    let process = Process {
        ticks: of(SysconfVar::CLK_TCK).unwrap_or(100.0),
        page: of(SysconfVar::PAGE_SIZE).unwrap_or(4096.0),
        boot: std::fs::read_to_string("/proc/stat")
            .ok()
            .and_then(|text| boot(&text)),
    };
    registry.register_collector(Box::new(process));
}

/// Returns when the machine was started, according to `/proc/stat`.
fn boot(text: &str) -> Option<f64> {
    let line = text.lines().find_map(|line| line.strip_prefix("btime "));
    line?.trim().parse().ok()
}

impl Stat {
    fn parse(text: &str) -> Option<Self> {
        // The name of the program can contain any character, even a bracket. The third field begins after its last bracket.
        let (_, fields) = text.rsplit_once(')')?;
        let fields: Vec<&str> = fields.split_whitespace().collect();
        let field = |number: usize| fields.get(number - 3)?.parse::<f64>().ok();
        Some(Self {
            cpu: field(14)? + field(15)?,
            threads: field(20)?,
            started: field(22)?,
            virtual_memory: field(23)?,
            resident: field(24)?,
        })
    }
}

impl Collector for Process {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let mut show = |name: &str, help: &str, kind: MetricType, value: Option<f64>| {
            let Some(value) = value else {
                return Ok(());
            };
            let metric = encoder.encode_descriptor(name, help, None, kind)?;
            match kind {
                MetricType::Counter => ConstCounter::new(value).encode(metric),
                _ => ConstGauge::new(value).encode(metric),
            }
        };
        let stat = std::fs::read_to_string("/proc/self/stat").ok();
        let stat = stat.as_deref().and_then(Stat::parse);
        let of = |value: fn(&Stat) -> f64| stat.as_ref().map(value);
        let gauge = MetricType::Gauge;
        show(
            "process_cpu_seconds",
            "CPU time of this process, in the program and in the kernel",
            MetricType::Counter,
            of(|stat| stat.cpu).map(|ticks| ticks / self.ticks),
        )?;
        show(
            "process_resident_memory_bytes",
            "Memory of this process that is in RAM",
            gauge,
            of(|stat| stat.resident).map(|pages| pages * self.page),
        )?;
        show(
            "process_virtual_memory_bytes",
            "Address space of this process, most of which is only reserved",
            gauge,
            of(|stat| stat.virtual_memory),
        )?;
        show(
            "process_threads",
            "Threads of this process",
            gauge,
            of(|stat| stat.threads),
        )?;
        show(
            "process_start_time_seconds",
            "When this process was started, in seconds since 1970",
            gauge,
            self.boot
                .zip(of(|stat| stat.started))
                .map(|(boot, ticks)| boot + ticks / self.ticks),
        )?;
        #[expect(
            clippy::cast_precision_loss,
            reason = "limits of descriptors are small"
        )]
        let limit = getrlimit(Resource::RLIMIT_NOFILE).map(|(soft, _)| soft as f64);
        show(
            "process_max_fds",
            "The most descriptors that this process may have",
            gauge,
            limit.ok(),
        )?;
        // The directory itself is open while it is read.
        let open = std::fs::read_dir("/proc/self/fd").map(|open| open.count().saturating_sub(1));
        let open = open.ok().and_then(|open| u32::try_from(open).ok());
        show(
            "process_open_fds",
            "Descriptors of this process",
            gauge,
            open.map(f64::from),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_lines_are_read() {
        let text = "7 (a) b (c)) S 1 7 7 0 -1 0 1 2 3 4 150 50 0 0 20 0 9 0 1000 4096 3 0\n";
        let expected = Stat {
            cpu: 200.0,
            threads: 9.0,
            started: 1000.0,
            virtual_memory: 4096.0,
            resident: 3.0,
        };
        assert_eq!(Stat::parse(text), Some(expected));
        assert_eq!(Stat::parse("7 (a) S 1"), None);
        assert_eq!(boot("cpu 1\nbtime 1700000000\n"), Some(1.7e9));
    }
}

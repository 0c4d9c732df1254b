//! Commands with more and more output.

use std::path::Path;
use std::process::Command;
use std::time::Instant;

use serde_json::json;

use crate::chart::{Panel, Series, chart};
use crate::hosts::{call, host, spawner};
use crate::report::{Report, median, time};
use crate::system::{forget_peak, peak, resident};

/// Runs commands whose output is saved, next to the same into `cat`.
pub(crate) async fn run(report: &mut Report, base: &Path) {
    let builder = host(base, Some(spawner()));
    let host = builder.start().await.expect("the host starts");
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    let mut last = None;
    // From 1 KiB to 1 GiB.
    for power in (10..=30).step_by(4) {
        let size = 1_u64 << power;
        if report.quick && size > 1 << 26 {
            break;
        }
        let command = format!("head -c {size} /dev/zero");
        let rounds = if size > 1 << 20 { 3 } else { 50 };
        let (mut here, mut there, mut growth) = (Vec::new(), Vec::new(), 0);
        for _ in 0..rounds {
            let begun = Instant::now();
            let script = format!("{command} | cat >/dev/null");
            let status = Command::new("sh").args(["-c", &script]).status();
            assert!(status.expect("there is a shell").success());
            there.push(begun.elapsed());
            forget_peak();
            let before = resident();
            let arguments = json!({ "command": command, "timeout": "10m" });
            here.push(call(&host, "output", "execute", &arguments).await);
            growth = peak().saturating_sub(before).max(growth);
        }
        let (here, there) = (median(&mut here), median(&mut there));
        println!("{size} bytes: {} against {}", time(here), time(there));
        let point = |time: std::time::Duration| (size as f64, time.as_secs_f64() * 1e3);
        ours.push(point(here));
        theirs.push(point(there));
        last = Some((size, here, there, growth));
    }
    let (size, here, there, growth) = last.expect("something was measured");
    let amount = match size >> 30 {
        0 => format!("{} MiB", size >> 20),
        gib => format!("{gib} GiB"),
    };
    let peer = "the same into `cat >/dev/null`";
    report.pair(&format!("{amount} of output"), here, peer, there);
    report.value(
        &format!("{amount} of output, memory of the host at its peak"),
        format!("{:.1} MiB more", growth as f64 / 1024.0),
    );
    let series = [("execute", ours), ("into cat >/dev/null", theirs)];
    let panel = Panel {
        title: "a command from start to end, ms",
        series: series.map(|(name, points)| Series { name, points }).into(),
    };
    report.write("output.svg", &chart("bytes of output", &[panel]));
    host.shutdown().await;
}

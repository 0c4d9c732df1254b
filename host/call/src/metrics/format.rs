//! The text formats of metrics: OpenMetrics, and the older one of Prometheus, which every scraper reads.

use std::fmt::Write as _;

/// A text format of metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// The text format of Prometheus, version 0.0.4.
    Prometheus,
    /// OpenMetrics 1.0.0.
    OpenMetrics,
}

impl Format {
    /// Returns the media type of this format.
    pub fn media_type(self) -> &'static str {
        match self {
            Self::Prometheus => "text/plain; version=0.0.4; charset=utf-8",
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
        }
    }

    /// Returns the format that suits an `Accept` header: OpenMetrics if it is named, and no less wanted than plain text.
    pub fn accepted(accept: &str) -> Self {
        let wanted = |name: &str| {
            let items = accept.split(',').filter_map(|item| {
                let mut parts = item.split(';').map(str::trim);
                let named = parts.next()?.eq_ignore_ascii_case(name);
                let quality = parts.find_map(|part| part.strip_prefix("q="));
                let quality = quality.map_or(Some(1.0), |quality| quality.parse().ok());
                quality.filter(|_| named)
            });
            items.fold(0.0, f64::max)
        };
        let open = wanted("application/openmetrics-text");
        if open > 0.0 && open >= wanted("text/plain") {
            Self::OpenMetrics
        } else {
            Self::Prometheus
        }
    }
}

/// Returns a text of OpenMetrics in the format of Prometheus. There, a counter is named as its samples are, and an info is a
/// gauge.
pub(super) fn prometheus(open: &str) -> String {
    let mut text = String::with_capacity(open.len());
    // The type of a family follows its help, whose line needs the name that the type decides.
    let mut help = "";
    for line in open.lines() {
        if let Some(rest) = line.strip_prefix("# HELP ") {
            help = rest;
        } else if let Some(rest) = line.strip_prefix("# TYPE ") {
            let (family, kind) = rest.split_once(' ').unwrap_or((rest, "untyped"));
            let (suffix, kind) = match kind {
                "counter" => ("_total", kind),
                "info" => ("_info", "gauge"),
                _ => ("", kind),
            };
            let help = help.strip_prefix(family).unwrap_or_default();
            // Writing to a string cannot fail.
            _ = writeln!(text, "# HELP {family}{suffix}{help}");
            _ = writeln!(text, "# TYPE {family}{suffix} {kind}");
        } else if !line.starts_with('#') {
            text.push_str(line);
            text.push('\n');
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn open_metrics_are_for_those_who_ask() {
        for (accept, format) in [
            ("", Format::Prometheus),
            ("*/*", Format::Prometheus),
            ("text/plain", Format::Prometheus),
            ("application/openmetrics-text", Format::OpenMetrics),
            (
                "text/html, Application/OpenMetrics-Text; version=1.0.0",
                Format::OpenMetrics,
            ),
            ("application/openmetrics-text;q=0", Format::Prometheus),
            (
                "application/openmetrics-text;q=0.4, text/plain;q=0.5",
                Format::Prometheus,
            ),
            // The header that Prometheus sends.
            (
                "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.5,\
                 application/openmetrics-text;version=0.0.1;q=0.4,text/plain;version=1.0.0;q=0.3,\
                 text/plain;version=0.0.4;q=0.2,*/*;q=0.1",
                Format::OpenMetrics,
            ),
        ] {
            assert_eq!(Format::accepted(accept), format, "{accept}");
        }
    }

    #[test]
    fn counters_and_infos_are_named_as_their_samples_are() {
        let open = "# HELP a Some.\n# TYPE a counter\na_total{x=\"# y\"} 1\n# HELP b Other.\n# TYPE b info\n\
                    b_info{v=\"1\"} 1\n# HELP c_seconds Third.\n# TYPE c_seconds histogram\n# UNIT c_seconds seconds\n\
                    c_seconds_count 0\n# EOF\n";
        assert_eq!(
            prometheus(open),
            "# HELP a_total Some.\n# TYPE a_total counter\na_total{x=\"# y\"} 1\n# HELP b_info Other.\n# TYPE b_info gauge\n\
             b_info{v=\"1\"} 1\n# HELP c_seconds Third.\n# TYPE c_seconds histogram\nc_seconds_count 0\n"
        );
    }
}

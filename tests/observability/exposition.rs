//! A reader of the text format of OpenMetrics that takes nothing for granted.

use std::collections::{BTreeMap, HashMap};

/// The samples by their names and labels, as they are written.
#[derive(Debug)]
pub(super) struct Exposition(BTreeMap<String, f64>);

impl Exposition {
    /// Reads a text, and fails the test if it is not what Prometheus would read.
    pub(super) fn read(text: &str) -> Self {
        let mut types: HashMap<&str, &str> = HashMap::new();
        let mut samples = BTreeMap::new();
        let mut lines = text.lines();
        assert_eq!(lines.next_back(), Some("# EOF"));
        for line in lines {
            if let Some(rest) = line.strip_prefix("# TYPE ") {
                let (name, kind) = rest.split_once(' ').unwrap();
                assert!(types.insert(name, kind).is_none(), "{name} is there twice");
                continue;
            }
            if line.starts_with("# HELP ") || line.starts_with("# UNIT ") {
                continue;
            }
            let (series, value) = line.rsplit_once(' ').unwrap();
            let value: f64 = value.parse().unwrap_or_else(|_| panic!("{line}"));
            let name = series.split('{').next().unwrap();
            let suffixes = ["", "_total", "_info", "_bucket", "_count", "_sum"];
            let family = suffixes.iter().find_map(|suffix| {
                let family = name.strip_suffix(suffix)?;
                Some((*types.get(family)?, *suffix))
            });
            let (kind, suffix) = family.unwrap_or_else(|| panic!("{name} has no type"));
            let fits = match kind {
                "counter" => suffix == "_total" && value >= 0.0,
                "gauge" => suffix.is_empty(),
                "info" => suffix == "_info" && value == 1.0,
                "histogram" => matches!(suffix, "_bucket" | "_count" | "_sum"),
                other => panic!("{other} is no type of ours"),
            };
            assert!(fits, "{line} is no {kind}");
            if let Some(labels) = series
                .strip_prefix(name)
                .filter(|labels| !labels.is_empty())
            {
                check_labels(labels);
            }
            let known = samples.insert(series.to_owned(), value);
            assert!(known.is_none(), "{series} is there twice");
        }
        Self(samples)
    }

    /// Returns the value of a series; 0 if there is none.
    pub(super) fn value(&self, series: &str) -> f64 {
        self.0.get(series).copied().unwrap_or(0.0)
    }

    /// Returns the values that a label has.
    pub(super) fn labels(&self, label: &str) -> Vec<&str> {
        let start = format!("{label}=\"");
        let value = |series: &'_ String| {
            let from = series.find(&start)? + start.len();
            let rest = series.get(from..)?;
            Some(from..from + rest.find('"')?)
        };
        let mut values: Vec<_> = self
            .0
            .keys()
            .filter_map(|series| value(series).map(|range| &series[range]))
            .collect();
        values.sort_unstable();
        values.dedup();
        values
    }
}

/// Checks `{name="value",…}`.
fn check_labels(labels: &str) {
    let inner = labels
        .strip_prefix('{')
        .and_then(|rest| rest.strip_suffix('}'))
        .unwrap();
    for pair in inner.split("\",") {
        let (name, value) = pair.split_once("=\"").unwrap_or_else(|| panic!("{labels}"));
        assert!(
            name.bytes()
                .all(|byte| byte.is_ascii_lowercase() || byte == b'_'),
            "{labels}"
        );
        assert!(
            !value.trim_end_matches('"').contains(['"', '\n']),
            "{labels}"
        );
    }
}

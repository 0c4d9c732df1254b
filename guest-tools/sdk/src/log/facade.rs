//! The records of the crate `log`, as lines of the host's log.

use log::{Level, LevelFilter, Log, Metadata, Record, set_logger, set_max_level};

#[derive(Debug)]
struct ToHost;

/// Takes the records, unless the plugin has set a logger of its own before.
pub(crate) fn install() {
    if set_logger(&ToHost).is_ok() {
        set_max_level(LevelFilter::Debug);
    }
}

impl Log for ToHost {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.level() <= Level::Debug
    }

    fn log(&self, record: &Record<'_>) {
        let line = format!("{}: {}", record.target(), record.args());
        match record.level() {
            Level::Error => super::error(&line),
            Level::Warn => super::warn(&line),
            Level::Info => super::info(&line),
            Level::Debug => super::debug(&line),
            Level::Trace => {}
        }
    }

    fn flush(&self) {}
}

#[cfg(test)]
mod tests {
    use crate::testing::surroundings;

    #[test]
    fn records_go_to_the_host() {
        crate::log::install();
        log::error!("a {}", 1);
        log::warn!(target: "cache", "b");
        log::info!("c");
        log::debug!("d");
        log::trace!("e");
        let logged = surroundings(|now| now.logged.clone());
        let here = module_path!();
        let expected = [
            format!("error: {here}: a 1"),
            "warn: cache: b".to_owned(),
            format!("info: {here}: c"),
            format!("debug: {here}: d"),
        ];
        assert_eq!(logged, expected);
    }
}

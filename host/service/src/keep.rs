//! Keeping commands when the program ends: the option of the programs that serve.

use std::time::Duration;

use clap::Args;

use super::time::time;

/// How long commands are kept if no time is given.
const DEFAULT: Duration = Duration::from_secs(10 * 60);

/// Whether commands outlive the program.
#[derive(Clone, Debug, Args)]
#[group(skip)]
pub struct Options {
    /// Let commands run on when this program ends or is killed, until the next one on the same state directory takes them over; if none
    /// has come after TIME, they are ended [default TIME: 10m]
    #[arg(
        long,
        value_name = "TIME",
        env = "TOOLHOST_KEEP",
        help_heading = "Commands",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "yes",
        value_parser = keep
    )]
    keep: Option<Keep>,
}

/// The time for which commands are kept; `None`: they are not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Keep(Option<Duration>);

fn keep(text: &str) -> Result<Keep, &'static str> {
    match text {
        "yes" | "true" => Ok(Keep(Some(DEFAULT))),
        "" | "no" | "false" => Ok(Keep(None)),
        text => match time(text) {
            Ok(time) if time < Duration::from_secs(1) => {
                Err("the next program cannot start within less than 1s")
            }
            Ok(time) => Ok(Keep(Some(time))),
            Err(_) => Err("write a time as 30s or \"1h 30m\", or yes or no"),
        },
    }
}

impl Options {
    /// Returns how long commands are kept; `None`: they end with the program.
    pub fn time(&self) -> Option<Duration> {
        self.keep.and_then(|keep| keep.0)
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct Program {
        #[command(flatten)]
        options: Options,
    }

    #[test]
    fn it_is_off_and_has_a_default_and_a_time() {
        let parse = |arguments: &[&str]| {
            let program = Program::try_parse_from(["toolhost"].iter().chain(arguments));
            program.map(|program| program.options.time())
        };
        assert_eq!(parse(&[]).unwrap(), None);
        assert_eq!(parse(&["--keep"]).unwrap(), Some(DEFAULT));
        assert_eq!(parse(&["--keep=90s"]).unwrap().unwrap().as_secs(), 90);
        assert_eq!(parse(&["--keep=no"]).unwrap(), None);
        for bad in [&["--keep=soon"][..], &["--keep=0s"], &["--keep", "90s"]] {
            parse(bad).unwrap_err();
        }
    }
}

//! The sandbox of commands: the options that say what commands may do.

use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use bytesize::ByteSize;
use clap::Args;
use clap::builder::FalseyValueParser;
use toolhost_sandbox::{Limits, Mode, Network, Policy};

/// What commands may do.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Sandbox of commands")]
#[group(skip)]
pub struct Options {
    /// Where commands may write: `workspace` (it, their temporary files and caches of toolchains), `read-only` (only their
    /// temporary files), or `off` (whatever this user may)
    #[arg(
        long,
        value_name = "MODE",
        env = "TOOLHOST_SANDBOX",
        default_value = "workspace"
    )]
    sandbox: Mode,
    /// Start no command if the sandbox cannot be applied completely
    #[arg(long, env = "TOOLHOST_SANDBOX_REQUIRED", value_parser = FalseyValueParser::new())]
    sandbox_required: bool,
    /// A further path that commands may read; can be repeated
    #[arg(
        long,
        value_name = "PATH",
        env = "TOOLHOST_SANDBOX_READ",
        value_delimiter = ':'
    )]
    sandbox_read: Vec<PathBuf>,
    /// A further path that commands may read and write; can be repeated
    #[arg(
        long,
        value_name = "PATH",
        env = "TOOLHOST_SANDBOX_WRITE",
        value_delimiter = ':'
    )]
    sandbox_write: Vec<PathBuf>,
    /// A path that commands must not reach, whatever else says; can be repeated
    #[arg(
        long,
        value_name = "PATH",
        env = "TOOLHOST_SANDBOX_NEVER",
        value_delimiter = ':'
    )]
    sandbox_never: Vec<PathBuf>,
    /// The network of commands: `all` or `none`
    #[arg(
        long,
        value_name = "NETWORK",
        env = "TOOLHOST_SANDBOX_NETWORK",
        default_value = "all",
        value_parser = network
    )]
    sandbox_network: Network,
    /// Let commands make namespaces, for programs with a sandbox of their own such as Chromium
    #[arg(long, env = "TOOLHOST_SANDBOX_NESTED", value_parser = FalseyValueParser::new())]
    sandbox_nested: bool,
    /// The memory of each process of a command, such as `2GiB`
    #[arg(
        long,
        value_name = "SIZE",
        env = "TOOLHOST_SANDBOX_MEMORY",
        default_value = "none"
    )]
    sandbox_memory: Limit<ByteSize>,
    /// How many processes and threads this user may have besides those of now; root may have any number
    #[arg(
        long,
        value_name = "N",
        env = "TOOLHOST_SANDBOX_PROCESSES",
        default_value = "1024"
    )]
    sandbox_processes: Limit<u64>,
    /// The longest file that a command can write, such as `1GiB`
    #[arg(
        long,
        value_name = "SIZE",
        env = "TOOLHOST_SANDBOX_FILE_SIZE",
        default_value = "none"
    )]
    sandbox_file_size: Limit<ByteSize>,
    /// The CPU time of each process of a command, such as `10m`
    #[arg(
        long,
        value_name = "TIME",
        env = "TOOLHOST_SANDBOX_CPU",
        default_value = "none"
    )]
    sandbox_cpu: Limit<humantime::Duration>,
}

/// A limit that may be `none`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit<T>(Option<T>);

impl<T: FromStr<Err: std::fmt::Display>> FromStr for Limit<T> {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "none" => Ok(Self(None)),
            text => match text.parse() {
                Ok(limit) => Ok(Self(Some(limit))),
                Err(error) => Err(format!("{error}; for no limit, write none")),
            },
        }
    }
}

fn network(text: &str) -> Result<Network, String> {
    match text.parse() {
        Ok(network @ (Network::All | Network::None)) => Ok(network),
        Ok(Network::Hosts(_)) | Err(_) => Err("it is `all` or `none`".to_owned()),
    }
}

impl Options {
    /// Returns the policy of these options.
    ///
    /// # Errors
    ///
    /// If there is no current directory that a relative path could begin at.
    pub fn policy(&self) -> std::io::Result<Policy> {
        let absolute = |paths: &[PathBuf]| -> std::io::Result<_> {
            paths.iter().map(std::path::absolute).collect()
        };
        Ok(Policy {
            mode: self.sandbox,
            required: self.sandbox_required,
            read: absolute(&self.sandbox_read)?,
            write: absolute(&self.sandbox_write)?,
            never: absolute(&self.sandbox_never)?,
            network: self.sandbox_network.clone(),
            nested: self.sandbox_nested,
            limits: Limits {
                memory: self.sandbox_memory.0.map(|size| size.0),
                processes: self.sandbox_processes.0,
                file_size: self.sandbox_file_size.0.map(|size| size.0),
                cpu: self.sandbox_cpu.0.map(Duration::from),
            },
            ..Policy::default()
        })
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

    fn policy(arguments: &[&str]) -> Result<Policy, clap::Error> {
        let program = Program::try_parse_from(["toolhost"].iter().chain(arguments))?;
        Ok(program.options.policy().unwrap())
    }

    #[test]
    fn the_defaults_are_those_of_the_library() {
        assert_eq!(policy(&[]).unwrap(), Policy::default());
    }

    #[test]
    fn every_part_can_be_set() {
        let set = policy(&[
            "--sandbox=read-only",
            "--sandbox-required",
            "--sandbox-read=/a:/b",
            "--sandbox-read=/c",
            "--sandbox-write=/d",
            "--sandbox-never=/e",
            "--sandbox-network=none",
            "--sandbox-nested",
            "--sandbox-memory=1GiB",
            "--sandbox-processes=none",
            "--sandbox-file-size=1MiB",
            "--sandbox-cpu=2m",
        ]);
        let expected = Policy {
            mode: Mode::ReadOnly,
            required: true,
            read: ["/a", "/b", "/c"].map(Into::into).into(),
            write: vec!["/d".into()],
            never: vec!["/e".into()],
            network: Network::None,
            nested: true,
            limits: Limits {
                memory: Some(1 << 30),
                processes: None,
                file_size: Some(1 << 20),
                cpu: Some(Duration::from_secs(120)),
            },
            ..Policy::default()
        };
        assert_eq!(set.unwrap(), expected);
    }

    #[test]
    fn what_cannot_be_is_refused() {
        for bad in [
            "--sandbox=on",
            "--sandbox-network=example.com",
            "--sandbox-memory=much",
            "--sandbox-processes=-1",
            "--sandbox-cpu=long",
        ] {
            assert!(policy(&[bad]).is_err(), "{bad}");
        }
    }
}

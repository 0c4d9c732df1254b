//! The sandbox of commands: the options that say what commands may do.

use std::ffi::OsString;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use bytesize::ByteSize;
use clap::Args;
use clap::builder::FalseyValueParser;
use toolhost_egress::Rules;
use toolhost_sandbox::{Limits, Mode, Network, NetworkError, Policy};

/// What commands may do.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Sandbox of commands")]
#[group(skip)]
pub struct Options {
    /// Where commands may write: `workspace` (it, its home and their temporary files), `read-only` (only their
    /// temporary files), or `off` (everything that this user may)
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
    /// A Unix socket to which commands may connect: its path, or a variable of this program's environment that names it, such as
    /// SSH_AUTH_SOCK, which commands get as well; can be repeated
    #[arg(
        long,
        value_name = "PATH|VARIABLE",
        env = "TOOLHOST_SANDBOX_SOCKET",
        value_delimiter = ',',
        value_parser = Socket::named
    )]
    sandbox_socket: Vec<Socket>,
    /// A path that neither commands nor tools may reach, even if other flags allow it; can be repeated
    #[arg(
        long,
        value_name = "PATH",
        env = "TOOLHOST_SANDBOX_NEVER",
        value_delimiter = ':'
    )]
    sandbox_never: Vec<PathBuf>,
    /// The network of commands: `all`, `none`, or hosts such as `github.com,*.crates.example,10.0.0.5:5432`, which they reach through
    /// a proxy
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
    /// A path in the workspace that commands may only read, such as `.git/hooks`; can be repeated. `mcp` and `call` protect
    /// .git/hooks, .git/config, .envrc, .vscode and .idea by default; `none` protects nothing
    #[arg(
        long,
        value_name = "PATH",
        env = "TOOLHOST_SANDBOX_PROTECT",
        value_delimiter = ':'
    )]
    // Not a path of the machine, which a configuration would resolve.
    sandbox_protect: Vec<OsString>,
    /// Keep commands in the namespaces of the host
    #[arg(long, env = "TOOLHOST_SANDBOX_NO_NAMESPACES", value_parser = FalseyValueParser::new())]
    sandbox_no_namespaces: bool,
    /// The memory of each process of a command, such as `2GiB`
    #[arg(
        long,
        value_name = "SIZE",
        env = "TOOLHOST_SANDBOX_MEMORY",
        default_value = "none"
    )]
    sandbox_memory: Limit<ByteSize>,
    /// How many processes and threads commands can add to those that this user has already; root has no limit
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

/// A Unix socket, and the variable that names it.
#[derive(Clone, Debug)]
struct Socket {
    path: PathBuf,
    variable: Option<String>,
}

impl Socket {
    /// Returns the socket with a path, or in a variable. A text without `/` is the name of a variable, whose value is an absolute path or
    /// begins with `unix://`, as that of DOCKER_HOST.
    fn named(text: &str) -> Result<Self, String> {
        if text.contains('/') {
            return Ok(Self {
                path: text.into(),
                variable: None,
            });
        }
        let value = std::env::var(text).map_err(|error| {
            format!("{error} in the environment of this program; a path has a \"/\"")
        })?;
        let path = PathBuf::from(value.strip_prefix("unix://").unwrap_or(&value));
        match path.is_absolute() {
            true => Ok(Self {
                path,
                variable: Some(text.to_owned()),
            }),
            // It may be a secret.
            false => Err("the value of this variable is no absolute path".to_owned()),
        }
    }
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
    let network = text
        .parse()
        .map_err(|error: NetworkError| error.to_string())?;
    if let Network::Hosts(hosts) = &network {
        Rules::new(hosts).map_err(|error| error.to_string())?;
    }
    Ok(network)
}

/// The value of `--sandbox-protect` for no path at all.
const NONE: &str = "none";

impl Options {
    /// Protects the usual paths of a workspace that belongs to a person, unless the options say otherwise.
    pub fn protect_by_default(&mut self) {
        if self.sandbox_protect.is_empty() {
            self.sandbox_protect = Policy::PROTECTED.map(OsString::from).into();
        }
    }

    /// Returns the variables that name sockets for commands.
    pub(super) fn variables(&self) -> impl Iterator<Item = &String> {
        let sockets = self.sandbox_socket.iter();
        sockets.filter_map(|socket| socket.variable.as_ref())
    }

    /// Returns the policy of these options.
    ///
    /// # Errors
    ///
    /// If there is no current directory that a relative path could begin at.
    pub fn policy(&self) -> std::io::Result<Policy> {
        let absolute = |paths: &[PathBuf]| -> std::io::Result<_> {
            paths.iter().map(std::path::absolute).collect()
        };
        let sockets = self.sandbox_socket.iter();
        let sockets: Vec<_> = sockets.map(|socket| socket.path.clone()).collect();
        Ok(Policy {
            mode: self.sandbox,
            required: self.sandbox_required,
            read: absolute(&self.sandbox_read)?,
            write: absolute(&self.sandbox_write)?,
            sockets: absolute(&sockets)?,
            never: absolute(&self.sandbox_never)?,
            network: self.sandbox_network.clone(),
            nested: self.sandbox_nested,
            protect: match self.sandbox_protect.as_slice() {
                [only] if only == NONE => Vec::new(),
                paths => paths.iter().map(PathBuf::from).collect(),
            },
            no_namespaces: self.sandbox_no_namespaces,
            limits: Limits {
                memory: self.sandbox_memory.0.map(|size| size.0),
                processes: self.sandbox_processes.0,
                file_size: self.sandbox_file_size.0.map(|size| size.0),
                cpu: self.sandbox_cpu.0.map(Duration::from),
            },
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
            "--sandbox-socket=/f,/g",
            "--sandbox-never=/e",
            "--sandbox-network=none",
            "--sandbox-nested",
            "--sandbox-protect=.git/hooks:.envrc",
            "--sandbox-no-namespaces",
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
            sockets: ["/f", "/g"].map(Into::into).into(),
            never: vec!["/e".into()],
            network: Network::None,
            nested: true,
            protect: [".git/hooks", ".envrc"].map(Into::into).into(),
            no_namespaces: true,
            limits: Limits {
                memory: Some(1 << 30),
                processes: None,
                file_size: Some(1 << 20),
                cpu: Some(Duration::from_secs(120)),
            },
        };
        assert_eq!(set.unwrap(), expected);
    }

    #[test]
    fn a_person_protects_paths_unless_the_flag_says_otherwise() {
        let protected = |arguments: &[&str]| {
            let mut program =
                Program::try_parse_from(["toolhost"].iter().chain(arguments)).unwrap();
            program.options.protect_by_default();
            program.options.policy().unwrap().protect
        };
        let usual: Vec<_> = Policy::PROTECTED.map(PathBuf::from).into();
        assert_eq!(protected(&[]), usual);
        assert_eq!(protected(&["--sandbox-protect=a"]), [PathBuf::from("a")]);
        assert!(protected(&["--sandbox-protect=none"]).is_empty());
    }

    #[test]
    fn what_cannot_be_is_refused() {
        for bad in [
            "--sandbox=on",
            "--sandbox-network=127.1",
            "--sandbox-network=a b",
            "--sandbox-memory=much",
            "--sandbox-processes=-1",
            "--sandbox-cpu=long",
        ] {
            assert!(policy(&[bad]).is_err(), "{bad}");
        }
    }
}

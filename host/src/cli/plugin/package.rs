//! `toolhost plugin pack`, `push`, `pull`, `verify` and `diff`: components on their way from authors to operators.

pub(super) mod diff;
pub(super) mod pack;
pub(super) mod pull;
pub(super) mod push;
pub(super) mod verify;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use clap::Args;
use toolhost_package::{Access, Copies, Credentials, Pulled, Reference, Registry};
use toolhost_plugin::Limits;
use toolhost_service::logging;
use toolhost_state::state_dir::StateDir;
use toolhost_state::trusted::read_private;

/// How often a transfer that takes long says how far it is.
const PROGRESS_EVERY: Duration = Duration::from_secs(1);

/// How the registry is reached.
#[derive(Clone, Debug, Args)]
#[group(skip)]
#[command(next_help_heading = "Registry")]
pub(super) struct RegistryOptions {
    /// The name for the registry [default: that of `docker login`]
    #[arg(
        long,
        value_name = "NAME",
        env = "TOOLHOST_REGISTRY_USERNAME",
        requires = "password_file"
    )]
    username: Option<String>,
    /// A file with the password or token for the registry, which only you can read
    #[arg(
        long,
        value_name = "FILE",
        env = "TOOLHOST_REGISTRY_PASSWORD_FILE",
        requires = "username"
    )]
    password_file: Option<PathBuf>,
    /// Certificates of authorities in PEM, beside those of the system
    #[arg(long, value_name = "FILE", env = "TOOLHOST_REGISTRY_CA")]
    registry_ca: Option<PathBuf>,
    /// Ask the registry over plain HTTP, as one on this machine always is
    #[arg(long)]
    plain_http: bool,
}

impl RegistryOptions {
    /// Prepares requests to the registry of a package.
    fn registry(&self, reference: &Reference) -> anyhow::Result<Registry> {
        // The client takes the default, and another library of this program may have set it.
        _ = rustls::crypto::ring::default_provider().install_default();
        let credentials = match (&self.username, &self.password_file) {
            (Some(name), Some(file)) => {
                let password = read_private(file)?;
                Credentials::new(name, password.trim_end_matches(['\r', '\n']))
            }
            _ => match docker() {
                Some(path) => Credentials::of_docker(&path, reference.registry())?,
                None => Credentials::default(),
            },
        };
        let authorities = match &self.registry_ca {
            Some(path) => {
                let read = std::fs::read(path);
                Some(read.with_context(|| format!("cannot read {}", path.display()))?)
            }
            None => None,
        };
        Ok(Registry::of(
            reference,
            Access {
                credentials,
                authorities,
                is_plain: self.plain_http,
            },
        )?)
    }

    /// Pulls a component, and says how far it is if that takes long.
    async fn pull(&self, reference: &Reference) -> anyhow::Result<Pulled> {
        let mut told = Instant::now();
        let progress = |read: u64, all: u64| {
            if told.elapsed() >= PROGRESS_EVERY {
                told = Instant::now();
                logging::notice(
                    format_args!("pulling {reference}: {} of {} kB", read / 1000, all / 1000),
                    &[],
                );
            }
        };
        let most = Limits::default().component as u64;
        let registry = self.registry(reference)?;
        Ok(registry.pull(reference, most, progress).await?)
    }
}

/// Returns the file in which `docker login` keeps names and passwords.
fn docker() -> Option<PathBuf> {
    let directory = |name: &str| std::env::var_os(name).map(PathBuf::from);
    let directory =
        directory("DOCKER_CONFIG").or_else(|| Some(directory("HOME")?.join(".docker")))?;
    Some(directory.join("config.json"))
}

/// Opens the copies on this machine.
fn copies() -> anyhow::Result<Copies> {
    let Some(path) = StateDir::default_cache_path() else {
        bail!("there is no place for copies of packages: set XDG_CACHE_HOME or HOME");
    };
    Ok(Copies::open(&path)?)
}

/// Returns the file with the signature of a component: that of minisign beside it.
fn signature_of(component: &Path) -> PathBuf {
    let mut name = component.as_os_str().to_owned();
    name.push(".minisig");
    name.into()
}

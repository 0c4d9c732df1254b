//! The layers of the sandbox that this machine supports.

use std::fmt;
use std::fs;

use landlock::{LandlockStatus, RestrictSelf};

/// The first Landlock ABI that confines signals and abstract sockets: that of Linux 6.12.
pub(crate) const SCOPES: i32 = 6;

/// The first Landlock ABI that confines Unix sockets with a path: that of Linux 7.1.
pub(crate) const SOCKETS: i32 = 9;

/// The layers that this machine supports. An error says why a layer is missing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Support {
    /// Landlock, with the version of its ABI.
    pub landlock: Result<i32, String>,
    /// seccomp: filters of system calls.
    pub seccomp: Result<(), String>,
    /// Namespaces, in which a process has entered a [`crate::View`] as a trial.
    pub namespaces: Result<(), String>,
}

/// A layer of the sandbox, for a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layer {
    /// The name.
    pub name: &'static str,
    /// The version, which may be empty; or the reason why the layer is missing.
    pub state: Result<String, String>,
    /// A list of what the layer protects.
    pub protects: &'static str,
    /// A way to enable or improve the layer; empty if there is nothing to do.
    pub enable: &'static str,
}

impl Support {
    /// Why namespaces are missing where the operator has turned them off.
    pub const NO_NAMESPACES: &str = "they are disabled by --sandbox-no-namespaces";

    /// Detects the layers, except for namespaces, which only a single-threaded process can try.
    #[must_use]
    pub fn detect() -> Self {
        Self {
            landlock: landlock(),
            seccomp: seccomp(),
            namespaces: Err("they were not tried".to_owned()),
        }
    }

    /// Returns the version of Landlock's ABI; 0 if there is no Landlock.
    pub(crate) fn abi(&self) -> i32 {
        *self.landlock.as_ref().unwrap_or(&0)
    }

    /// Returns the layers as rows of a table.
    #[must_use]
    pub fn layers(&self) -> Vec<Layer> {
        vec![
            Layer {
                name: "Landlock",
                state: self.landlock.clone().map(|abi| format!("ABI {abi}")),
                protects: "files; memory and signals of other processes; abstract sockets",
                enable: match self.abi() {
                    0 => "Linux 5.13 or newer with landlock in the boot parameter lsm=",
                    abi if abi < SCOPES => {
                        "Linux 6.12 for signals and abstract sockets, 7.1 for sockets with a path"
                    }
                    abi if abi < SOCKETS => "Linux 7.1 for sockets with a path",
                    _ => "",
                },
            },
            Layer {
                name: "seccomp",
                state: self.seccomp.clone().map(|()| String::new()),
                protects: "the kernel: mounts, BPF, io_uring, keys, raw sockets; the network if it is none",
                enable: match self.seccomp {
                    Ok(()) => "",
                    Err(_) => "a kernel with CONFIG_SECCOMP_FILTER",
                },
            },
            Layer {
                name: "namespaces",
                state: self.namespaces.clone().map(|()| String::new()),
                protects: "names of files and processes; the home, /tmp and /run; modes of files; lists of hosts",
                enable: match &self.namespaces {
                    Ok(()) => "",
                    Err(why) if why == Self::NO_NAMESPACES => {
                        "a start without --sandbox-no-namespaces"
                    }
                    Err(_) => {
                        "namespaces for ordinary users (kernel.unprivileged_userns_clone=1, kernel.apparmor_restrict_unprivileged_userns=0, user.max_user_namespaces), or in a container its options for them"
                    }
                },
            },
        ]
    }
}

fn landlock() -> Result<i32, String> {
    // Without a ruleset, this call restricts nothing and only returns the status.
    let asked = RestrictSelf::default().no_new_privs(false).apply();
    match asked.map_err(|error| error.to_string())?.landlock {
        LandlockStatus::NotEnabled => Err("the kernel has it, but it is not enabled".to_owned()),
        LandlockStatus::NotImplemented => Err("the kernel does not have it".to_owned()),
        LandlockStatus::Available {
            effective_abi,
            kernel_abi,
        } => Ok(kernel_abi.unwrap_or(effective_abi as i32)),
    }
}

fn seccomp() -> Result<(), String> {
    let status = fs::read_to_string("/proc/self/status");
    let status = status.map_err(|error| format!("/proc/self/status cannot be read: {error}"))?;
    match status.contains("\nSeccomp_filters:") || status.contains("\nSeccomp:") {
        true => Ok(()),
        false => Err("the kernel does not have it".to_owned()),
    }
}

impl fmt::Display for Layer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.state {
            Ok(version) if version.is_empty() => write!(formatter, "{}: there", self.name)?,
            Ok(version) => write!(formatter, "{}: {version}", self.name)?,
            Err(why) => write!(formatter, "{}: missing ({why})", self.name)?,
        }
        write!(formatter, "; protects {}", self.protects)?;
        match self.enable {
            "" => Ok(()),
            enable => write!(formatter, "; to enable: {enable}"),
        }
    }
}

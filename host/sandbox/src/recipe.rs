//! The recipe of a sandbox: the steps by which a child enters it before the exec. The host prepares them.

use std::fmt;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use seccompiler::{BpfProgram, sock_filter};

use crate::limits::KernelLimits;
use crate::{capabilities, sys};

/// The version of the encoding.
const VERSION: u8 = 1;

/// The number that encodes no limit.
const NO_LIMIT: u64 = u64::MAX;

/// The steps to enter a sandbox. The recipe of the mode `off` is empty and changes nothing.
#[derive(Debug, Default)]
pub struct Recipe {
    pub(crate) confined: bool,
    pub(crate) limits: KernelLimits,
    pub(crate) ruleset: Option<OwnedFd>,
    pub(crate) filter: BpfProgram,
}

/// The encoded recipe whose filter of system calls a process has applied to itself. The processes that it starts inherit the filter: the
/// kernel takes longer to load one than for all other steps.
#[derive(Debug, Default)]
pub struct Inherited(Option<Vec<u8>>);

/// A step that failed. The process may be partly in the sandbox, and must end.
#[derive(Debug, thiserror::Error)]
#[error("cannot apply the sandbox: {part}: {error}")]
pub struct ApplyError {
    /// The step.
    pub part: Part,
    /// The error of the system.
    pub error: io::Error,
}

/// A step to enter the sandbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Lowering the resource limits.
    Limits,
    /// Dropping the capabilities of root.
    Capabilities,
    /// Setting `no_new_privs`, so that setuid programs give no privileges.
    NoNewPrivileges,
    /// Applying the Landlock ruleset.
    Landlock,
    /// Loading the filter of system calls.
    Seccomp,
}

impl Recipe {
    /// Decodes the bytes of [`crate::Sandbox::encode`], with the descriptors of [`crate::Sandbox::descriptors`].
    ///
    /// # Errors
    ///
    /// If the bytes have another version or end too early, or if a descriptor is missing.
    pub fn decode(
        bytes: &[u8],
        descriptors: impl IntoIterator<Item = OwnedFd>,
    ) -> io::Result<Self> {
        let short = || invalid("the recipe of the sandbox is incomplete");
        let (&[version, confined, has_ruleset], mut rest) =
            bytes.split_first_chunk().ok_or_else(short)?;
        if version != VERSION {
            return Err(invalid("the recipe of the sandbox has another version"));
        }
        let mut limits = KernelLimits::default();
        for limit in &mut limits.0 {
            let (number, after) = rest.split_first_chunk().ok_or_else(short)?;
            let number = u64::from_le_bytes(*number);
            *limit = (number != NO_LIMIT).then_some(number);
            rest = after;
        }
        let (instructions, []) = rest.as_chunks::<8>() else {
            return Err(short());
        };
        let instruction = |&[a, b, jt, jf, c, d, e, f]: &[u8; 8]| sock_filter {
            code: u16::from_le_bytes([a, b]),
            jt,
            jf,
            k: u32::from_le_bytes([c, d, e, f]),
        };
        let ruleset = match has_ruleset {
            0 => None,
            _ => Some(descriptors.into_iter().next().ok_or_else(short)?),
        };
        Ok(Self {
            confined: confined != 0,
            limits,
            ruleset,
            filter: instructions.iter().map(instruction).collect(),
        })
    }

    pub(crate) fn encode(&self) -> Vec<u8> {
        let head = [VERSION, self.confined.into(), self.ruleset.is_some().into()];
        let limits = self.limits.0.iter();
        let limits = limits.flat_map(|limit| limit.unwrap_or(NO_LIMIT).to_le_bytes());
        let filter = self.filter.iter().flat_map(|instruction| {
            let [a, b] = instruction.code.to_le_bytes();
            let [c, d, e, f] = instruction.k.to_le_bytes();
            [a, b, instruction.jt, instruction.jf, c, d, e, f]
        });
        head.into_iter().chain(limits).chain(filter).collect()
    }

    /// Returns the bytes of a recipe that is as long as most, for a process that decodes it ahead of need: a process that was just forked
    /// has none of the memory ready that this takes.
    pub fn sample() -> Vec<u8> {
        const INSTRUCTIONS: usize = 256;
        let nothing = sock_filter {
            code: 0,
            jt: 0,
            jf: 0,
            k: 0,
        };
        let sample = Self {
            filter: vec![nothing; INSTRUCTIONS],
            ..Self::default()
        };
        sample.encode()
    }

    /// Returns whether the process gets Landlock rules. Then it can neither trace a process outside of them nor read its memory.
    pub fn has_ruleset(&self) -> bool {
        self.ruleset.is_some()
    }

    /// Returns the descriptors that must stay open until [`Recipe::apply`]. They are close-on-exec.
    pub fn descriptors(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.ruleset.iter().map(AsFd::as_fd)
    }

    /// Applies the filter of this recipe, which was decoded from these bytes, to this process, unless that was done for an earlier child. The
    /// next child inherits it, and [`Recipe::apply`] leaves it out. If this process has the filter of another recipe, the child applies its
    /// own as well.
    ///
    /// # Errors
    ///
    /// If a step fails. This process may be partly in the sandbox then.
    pub fn let_inherit(
        &mut self,
        encoded: &[u8],
        inherited: &mut Inherited,
    ) -> Result<(), ApplyError> {
        if self.filter.is_empty() {
            return Ok(());
        }
        match &inherited.0 {
            None => {
                rustix::thread::set_no_new_privs(true).map_err(Part::NoNewPrivileges.failed())?;
                self.apply_filter()?;
                inherited.0 = Some(encoded.to_vec());
            }
            Some(known) if known == encoded => {}
            Some(_) => return Ok(()),
        }
        self.filter.clear();
        Ok(())
    }

    fn apply_filter(&self) -> Result<(), ApplyError> {
        seccompiler::apply_filter(&self.filter).map_err(|error| ApplyError {
            part: Part::Seccomp,
            error: match error {
                seccompiler::Error::Prctl(error) | seccompiler::Error::Seccomp(error) => error,
                _ => io::ErrorKind::InvalidInput.into(),
            },
        })
    }

    /// Puts this thread, and every program that it executes, into the sandbox. This cannot be undone. Call it in a forked, single-threaded
    /// process as the last step before the exec. It only makes system calls, and allocates no memory.
    ///
    /// # Errors
    ///
    /// If a step fails. Then the process must end without an exec.
    pub fn apply(&self) -> Result<(), ApplyError> {
        if !self.confined {
            return Ok(());
        }
        self.limits.apply().map_err(Part::Limits.failed())?;
        capabilities::drop_others().map_err(Part::Capabilities.failed())?;
        rustix::thread::set_no_new_privs(true).map_err(Part::NoNewPrivileges.failed())?;
        if let Some(ruleset) = &self.ruleset {
            sys::restrict_self(ruleset.as_fd()).map_err(Part::Landlock.failed())?;
        }
        if !self.filter.is_empty() {
            self.apply_filter()?;
        }
        Ok(())
    }
}

impl Part {
    fn failed<E: Into<io::Error>>(self) -> impl FnOnce(E) -> ApplyError {
        move |error| ApplyError {
            part: self,
            error: error.into(),
        }
    }
}

impl fmt::Display for Part {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Limits => "resource limits",
            Self::Capabilities => "capabilities",
            Self::NoNewPrivileges => "no_new_privs",
            Self::Landlock => "Landlock",
            Self::Seccomp => "seccomp",
        })
    }
}

impl From<ApplyError> for io::Error {
    /// Keeps only the system's error, because a forked child can report nothing but its number.
    fn from(error: ApplyError) -> Self {
        error.error
    }
}

fn invalid(text: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, text)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn recipes_read_back(
            limits: [Option<u32>; 4],
            filter in prop::collection::vec(any::<(u16, u8, u8, u32)>(), 0..9),
            confined: bool,
        ) {
            let instruction = |(code, jt, jf, k)| sock_filter { code, jt, jf, k };
            let recipe = Recipe {
                confined,
                limits: KernelLimits(limits.map(|limit| limit.map(u64::from))),
                ruleset: None,
                filter: filter.into_iter().map(instruction).collect(),
            };
            let read = Recipe::decode(&recipe.encode(), []).unwrap();
            prop_assert_eq!(format!("{read:?}"), format!("{recipe:?}"));
        }

        #[test]
        fn any_bytes_are_a_recipe_or_an_error(bytes in prop::collection::vec(any::<u8>(), 0..99)) {
            _ = Recipe::decode(&bytes, []);
        }
    }

    #[test]
    fn a_missing_descriptor_is_an_error() {
        let recipe = Recipe {
            ruleset: Some(std::fs::File::open("/dev/null").unwrap().into()),
            ..Recipe::default()
        };
        assert!(Recipe::decode(&recipe.encode(), []).is_err());
        assert!(Recipe::decode(&recipe.encode(), [recipe.ruleset.unwrap()]).is_ok());
    }
}

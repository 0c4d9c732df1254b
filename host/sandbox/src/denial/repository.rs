//! Repositories that are larger than the workspace.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags, openat};
use toolhost_state::real_paths::by_names;

/// What git says if it does not find its repository.
pub(super) const TEXT: &str = "not a git repository";

/// The most bytes of a file that leads to a repository.
const MOST: u64 = 4096;

/// Returns the directory outside of a workspace that git needs: the common directory of a linked worktree or of a submodule, or the root of
/// the repository in which the workspace is. `None` if it needs none.
///
/// Commands may have written what leads there. So it is a name for a text, which is never looked up: it would tell whether the path exists.
pub(super) fn outside(workspace: &Path) -> Option<PathBuf> {
    let own = workspace.join(".git");
    if own.symlink_metadata().is_err() {
        let mut above = workspace.ancestors().skip(1);
        let above = above.find(|above| above.join(".git").exists());
        return above.map(Path::to_path_buf);
    }
    let text = read(&own).ok()?;
    let directory = by_names(&workspace.join(text.strip_prefix("gitdir:")?.trim()));
    let common = match directory.parent() {
        Some(worktrees) if worktrees.ends_with("worktrees") => worktrees.parent()?,
        _ => &directory,
    };
    (!common.starts_with(workspace)).then(|| common.to_path_buf())
}

/// Reads the beginning of a file that a command may have made: it can also be a pipe, a device, or a link to one.
fn read(path: &Path) -> io::Result<String> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = File::from(openat(CWD, path, flags, Mode::empty())?);
    if !file.metadata()?.is_file() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let mut text = String::new();
    file.take(MOST).read_to_string(&mut text)?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn what_git_needs_outside_of_the_workspace_is_found() {
        let tree = tempfile::tempdir().unwrap();
        let root = tree.path().canonicalize().unwrap();
        let write = |path: &str, text: &str| {
            let path = root.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write("main/.git/HEAD", "");
        write("main/.git/modules/module/HEAD", "");
        write("main/module/.git", "gitdir: ../.git/modules/module\n");
        write("main/inner/deep/file", "");
        write(
            "tree/.git",
            &format!(
                "gitdir: {}\n",
                root.join("main/.git/worktrees/tree").display()
            ),
        );
        write("own/.git", "gitdir: real\n");
        write("own/real/HEAD", "");
        for (workspace, expected) in [
            ("main", None),
            ("own", None),
            ("tree", Some("main/.git")),
            ("main/module", Some("main/.git/modules/module")),
            ("main/inner/deep", Some("main")),
        ] {
            let expected = expected.map(|path| root.join(path));
            assert_eq!(outside(&root.join(workspace)), expected, "{workspace}");
        }
    }

    /// The host reads it, so a command must neither hold the host up nor learn of files that it was not given.
    #[test]
    fn what_a_command_puts_there_is_not_followed() {
        let tree = tempfile::tempdir().unwrap();
        let root = tree.path().canonicalize().unwrap();
        let own = root.join("work/.git");
        fs::create_dir_all(root.join("work")).unwrap();
        symlink("/dev/zero", &own).unwrap();
        assert_eq!(outside(&root.join("work")), None);
        fs::remove_file(&own).unwrap();
        nix::unistd::mkfifo(&own, nix::sys::stat::Mode::S_IRWXU).unwrap();
        assert_eq!(outside(&root.join("work")), None);
        fs::remove_file(&own).unwrap();
        fs::create_dir(root.join("there")).unwrap();
        for path in ["there", "nowhere"] {
            let path = root.join(path);
            fs::write(&own, format!("gitdir: {}", path.display())).unwrap();
            assert_eq!(outside(&root.join("work")), Some(path));
        }
    }
}

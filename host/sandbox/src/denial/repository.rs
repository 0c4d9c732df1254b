//! Repositories that are larger than the workspace.

use std::fs;
use std::path::{Path, PathBuf};

/// What git says if it does not find its repository.
pub(super) const TEXT: &str = "not a git repository";

/// Returns the directory outside of a workspace that git needs: the common directory of a linked worktree or of a submodule, or the root of
/// the repository in which the workspace is. `None` if it needs none.
///
/// Commands may have written what leads there, so it is a name for a text, and never granted.
pub(super) fn outside(workspace: &Path) -> Option<PathBuf> {
    let own = workspace.join(".git");
    if own.is_dir() {
        return None;
    }
    let Ok(text) = fs::read_to_string(&own) else {
        let mut above = workspace.ancestors().skip(1);
        return above
            .find(|above| above.join(".git").exists())
            .map(Path::to_path_buf);
    };
    let directory = workspace.join(text.strip_prefix("gitdir:")?.trim());
    let common = fs::read_to_string(directory.join("commondir"));
    let common = common.map_or(directory.clone(), |common| directory.join(common.trim()));
    let common = common.canonicalize().ok()?;
    (!common.starts_with(workspace)).then_some(common)
}

#[cfg(test)]
mod tests {
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
        write("main/.git/worktrees/tree/commondir", "../..\n");
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
}

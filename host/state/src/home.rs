//! The homes of the user that runs this process.

use std::path::PathBuf;

use nix::unistd::{Uid, User};

/// Returns the home that the variable `HOME` names, if it is absolute.
pub fn of_environment() -> Option<PathBuf> {
    let home = std::env::var_os("HOME").map(PathBuf::from);
    home.filter(|home| home.is_absolute())
}

/// Returns the home in the database of users of the system; `None` if the user has none.
pub fn of_system() -> Option<PathBuf> {
    let user = User::from_uid(Uid::effective()).ok().flatten()?;
    Some(user.dir).filter(|home| home.is_absolute() && home.parent().is_some())
}

/// Returns the directory of the configuration of this user: `$XDG_CONFIG_HOME/toolhost`, or `~/.config/toolhost`; `None` if neither
/// variable is an absolute path.
pub fn configuration() -> Option<PathBuf> {
    let named = std::env::var_os("XDG_CONFIG_HOME").map(PathBuf::from);
    let named = named.filter(|path| path.is_absolute());
    let directory = named.or_else(|| Some(of_environment()?.join(".config")));
    directory.map(|directory| directory.join("toolhost"))
}

//! A program on a pseudo-terminal, and the screen that it draws.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::fs::OpenOptionsExt as _;
use std::process::{Child, Command, ExitStatus};
use std::sync::{Arc, Condvar, Mutex};

use nix::fcntl::OFlag;
use nix::pty::{grantpt, posix_openpt, ptsname_r, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

use super::PATIENCE;

/// A program on a terminal of its own. Dropping this kills the program.
pub(crate) struct Terminal {
    child: Child,
    keys: File,
    /// The end that the program has.
    own: File,
    shown: Arc<Shown>,
}

/// A title, which no screen shows.
const END: &str = "\u{1b}]0;the test is over\u{7}";

struct Shown {
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    parser: vt100::Parser,
    /// Every byte that the program wrote.
    bytes: Vec<u8>,
}

impl Drop for Terminal {
    fn drop(&mut self) {
        _ = self.child.kill();
        _ = self.child.wait();
    }
}

impl Terminal {
    /// Starts a command line with nothing but the variables that it sets itself.
    pub(crate) fn start(command: &Command, columns: u16, lines: u16) -> Self {
        // No other program that is started meanwhile inherits an end of the terminal.
        let flags = OFlag::O_RDWR | OFlag::O_NOCTTY | OFlag::O_CLOEXEC;
        let master = posix_openpt(flags).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let size = Winsize {
            ws_col: columns,
            ws_row: lines,
            ws_xpixel: 0,
            ws_ypixel: 0,
        };
        tcsetwinsize(master.as_fd(), size).unwrap();
        let name = ptsname_r(&master).unwrap();
        let open = || {
            let mut options = File::options();
            options.read(true).write(true);
            options.custom_flags((OFlag::O_NOCTTY | OFlag::O_CLOEXEC).bits());
            options.open(&name).unwrap()
        };
        // It makes the terminal that of the program, which then gets the signals of keys.
        let mut on_terminal = Command::new("setsid");
        on_terminal
            .arg("--ctty")
            .arg(command.get_program())
            .args(command.get_args())
            .env_clear()
            .env("TERM", "xterm-256color")
            .envs(
                command
                    .get_envs()
                    .filter_map(|(name, value)| Some((name, value?))),
            )
            .stdin(open())
            .stdout(open())
            .stderr(open());
        if let Some(directory) = command.get_current_dir() {
            on_terminal.current_dir(directory);
        }
        let child = on_terminal.spawn().unwrap();
        let shown = Arc::new(Shown {
            state: Mutex::new(State {
                parser: vt100::Parser::new(
                    lines.try_into().unwrap(),
                    columns.try_into().unwrap(),
                    0,
                ),
                bytes: Vec::new(),
            }),
            changed: Condvar::new(),
        });
        let mut output = File::from(OwnedFd::from(master));
        let keys = output.try_clone().unwrap();
        let drawn = Arc::clone(&shown);
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            // Reading fails when no program has the terminal any more.
            while let Ok(count @ 1..) = output.read(&mut buffer) {
                let mut state = drawn.state.lock().unwrap();
                state.parser.process(&buffer[..count]);
                state.bytes.extend_from_slice(&buffer[..count]);
                drawn.changed.notify_all();
            }
        });
        Self {
            child,
            keys,
            own: open(),
            shown,
        }
    }

    /// Presses keys.
    pub(crate) fn press(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).unwrap();
    }

    /// Sends a signal to the program.
    pub(crate) fn signal(&self, signal: nix::sys::signal::Signal) {
        let pid = nix::unistd::Pid::from_raw(i32::try_from(self.child.id()).unwrap());
        nix::sys::signal::kill(pid, signal).unwrap();
    }

    /// Waits until the screen is so, and returns it.
    pub(crate) fn until(&self, what: &str, is: impl Fn(&str) -> bool) -> String {
        let state = self.shown.state.lock().unwrap();
        let not_yet = |state: &mut State| !is(&state.parser.screen().contents());
        let waited = self
            .shown
            .changed
            .wait_timeout_while(state, PATIENCE, not_yet);
        let (state, timeout) = waited.unwrap();
        let screen = state.parser.screen().contents();
        assert!(
            !timeout.timed_out(),
            "waited in vain until {what}: {screen}"
        );
        screen
    }

    /// Waits until a text is on the screen, and returns the screen.
    pub(crate) fn until_shown(&self, text: &str) -> String {
        self.until(&format!("{text:?} is shown"), |screen| {
            screen.contains(text)
        })
    }

    /// Returns the lines of the screen, each with whether it begins with an inverse character.
    pub(crate) fn drawn(&self) -> Vec<(String, bool)> {
        let state = self.shown.state.lock().unwrap();
        let screen = state.parser.screen();
        let rows = screen.rows(0, screen.size().1.get()).zip(0..);
        let rows = rows.map(|(text, row)| {
            let first = screen.cell(row, 0);
            (text, first.is_some_and(vt100::Cell::inverse))
        });
        rows.collect()
    }

    /// Waits for the end of the program, and returns how it ended, the screen, and everything that it wrote.
    pub(crate) async fn ended(mut self) -> (ExitStatus, String, String) {
        let status = super::until("the program ends", || self.child.try_wait().unwrap()).await;
        // This comes after everything that the program wrote.
        self.own.write_all(END.as_bytes()).unwrap();
        let state = self.shown.state.lock().unwrap();
        let is_open = |state: &mut State| !state.bytes.ends_with(END.as_bytes());
        let waited = self
            .shown
            .changed
            .wait_timeout_while(state, PATIENCE, is_open);
        let (state, timeout) = waited.unwrap();
        assert!(!timeout.timed_out(), "the terminal hangs");
        let bytes = String::from_utf8_lossy(&state.bytes).replace(END, "");
        (status, state.parser.screen().contents(), bytes)
    }
}

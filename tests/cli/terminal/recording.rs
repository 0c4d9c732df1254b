//! The recording of a terminal in the README: a picture that moves, made of what the program really drew.

mod picture;

use super::*;
use picture::{COLUMNS, Frame, LINES, Line};

/// The directory of the recording in the README. `TOOLHOST_PICTURES=docs/images` replaces it.
const IMAGES: &str = "docs/images";

/// Tests that fail after they were told to go on.
const TESTS: &str = "#!/bin/sh\necho 'test login ... ok'\nuntil [ -e go ]; do sleep 0.01; done\necho 'test logout ... FAILED'\nexit 1\n";

/// A server that runs until it is ended.
const WEB: &str = "#!/bin/sh\necho 'ready: port 3000'\nexec sleep 1000\n";

/// A session: what stands above the program that runs now, and what was shown so far.
#[derive(Default)]
struct Session {
    above: Vec<Line>,
    frames: Vec<Frame>,
}

impl Session {
    /// Shows the screen of a program for some time.
    fn show(&mut self, screen: &[Line], seconds: f64) {
        let all = [&self.above[..], screen].concat();
        let cut = all.len().saturating_sub(LINES.into());
        let lines = all[cut..].to_vec();
        self.frames.push(Frame { lines, seconds });
    }

    /// Types a command line, and starts it.
    fn start(&mut self, site: &Site, command: &str, arguments: &[&str]) -> Terminal {
        let prompt = "$ ".to_owned();
        self.show(&[Line::plain(prompt.clone())], 0.6);
        self.above.push(Line::plain(prompt + command));
        self.show(&[], 0.9);
        Terminal::start(&site.command(arguments), COLUMNS, LINES)
    }

    /// Shows the end of a program whose output stays.
    async fn end(&mut self, terminal: Terminal, code: i32, seconds: f64) {
        let (status, screen, _) = terminal.ended().await;
        assert_eq!(status.code(), Some(code), "{screen}");
        let lines = screen.trim_end().lines();
        self.above
            .extend(lines.map(|line| Line::plain(line.to_owned())));
        self.show(&[], seconds);
    }
}

/// Returns the screen of a program, without the empty lines at its end.
fn lines(terminal: &Terminal) -> Vec<Line> {
    let lines = terminal.drawn().into_iter();
    let mut lines: Vec<_> = lines
        .map(|(text, is_inverse)| Line { text, is_inverse })
        .collect();
    while lines.pop_if(|line| line.text.trim().is_empty()).is_some() {}
    lines
}

/// Runs the commands of the recording.
async fn recorded() -> Vec<Frame> {
    use std::os::unix::fs::PermissionsExt as _;

    let site = Site::new();
    for (name, text) in [("run-tests", TESTS), ("serve-web", WEB)] {
        std::fs::write(site.path(name), text).unwrap();
        let executable = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(site.path(name), executable).unwrap();
    }
    let mut session = Session::default();
    let arguments = [
        "call",
        "execute",
        "command=./run-tests",
        "--chat",
        "demo",
        "--server",
        "local",
    ];
    let command = "toolhost call execute command=./run-tests --chat demo --server local";
    let terminal = session.start(&site, command, &arguments);
    terminal.until("the call has run for a second", |screen| {
        screen.contains("login ... ok") && screen.contains("Ctrl-C cancels it")
    });
    session.show(&lines(&terminal), 1.6);
    std::fs::write(site.path("go"), "").unwrap();
    session.end(terminal, 1, 2.5).await;

    let id = site.process("demo", "./serve-web").await;
    site.until_written(&id, 17).await;
    let terminal = session.start(&site, "toolhost ps", &["ps"]);
    session.end(terminal, 0, 2.5).await;

    let mut terminal = session.start(&site, "toolhost top", &["top"]);
    let above = std::mem::take(&mut session.above);
    terminal.until("the process is drawn, and the foot", |screen| {
        screen.contains("ready: port 3000") && screen.contains("q quit")
    });
    session.show(&lines(&terminal), 1.8);
    terminal.press("k");
    terminal.until_shown("[y/N]");
    session.show(&lines(&terminal), 1.8);
    terminal.press("y");
    terminal.until("the process is gone", |screen| {
        screen.contains("was told to end") && !screen.contains("ready: port")
    });
    session.show(&lines(&terminal), 2.5);
    terminal.press("q");
    let (status, ..) = terminal.ended().await;
    assert_eq!(status.code(), Some(0));
    session.above = above;

    let terminal = session.start(&site, "toolhost ps", &["ps"]);
    session.end(terminal, 0, 4.0).await;
    session.frames
}

/// Returns the text of a recording without what differs from run to run.
fn text_of(picture: &str) -> String {
    let mut text = masked(&picture::texts(picture));
    for (pattern, mask) in [(r"\b\d+\b", "N"), (r" - ", " N ")] {
        let pattern = regex::Regex::new(pattern).unwrap();
        text = pattern.replace_all(&text, mask).into_owned();
    }
    text
}

#[tokio::test(flavor = "multi_thread")]
async fn the_recording_of_the_readme_shows_what_the_program_draws() {
    let picture = picture::draw(&recorded().await);
    let images = std::env::var_os("TOOLHOST_PICTURES");
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let directory = images.as_deref().unwrap_or(IMAGES.as_ref());
    let path = root.join(directory).join("terminal.svg");
    if images.is_some() {
        std::fs::write(&path, &picture).unwrap();
    }
    let recorded = std::fs::read_to_string(path).unwrap();
    assert!(recorded.len() < 60 << 10, "{} bytes", recorded.len());
    assert_eq!(
        text_of(&picture),
        text_of(&recorded),
        "record it again: TOOLHOST_PICTURES={IMAGES} cargo test -p toolhost --test integration -- recording"
    );
}

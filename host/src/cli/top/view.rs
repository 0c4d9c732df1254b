//! The view of `toolhost top`: a table with a selected row, a question, and the state of the keys.

use termion::event::Key;

use super::rows::{self, Row, Target};
use crate::cli::remote::Snapshot;
use crate::cli::table::{cut, short_id, size};
use toolhost_plugin::shown;

const HELP: &str = "q quit   up/down select   k end";

/// The lines above and below the rows.
const AROUND: usize = 4;

/// The state of the table.
pub(super) struct View {
    snapshot: Snapshot,
    rows: Vec<Row>,
    selected: usize,
    /// The first row that is shown.
    top: usize,
    /// The thing that a question is about.
    asked: Option<Target>,
    message: Option<String>,
}

/// A line of the screen.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Line {
    pub(super) text: String,
    pub(super) is_selected: bool,
}

/// What a key asks for.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Action {
    None,
    Quit,
    End(Target),
}

impl View {
    pub(super) fn new(snapshot: Snapshot) -> Self {
        Self {
            rows: rows::of(&snapshot, None),
            snapshot,
            selected: 0,
            top: 0,
            asked: None,
            message: None,
        }
    }

    /// Shows another snapshot. The selection stays at its call or process while there is that.
    pub(super) fn update(&mut self, snapshot: Snapshot) {
        let target = self.target().cloned();
        self.rows = rows::of(&snapshot, Some(&self.snapshot));
        self.snapshot = snapshot;
        let found = self
            .rows
            .iter()
            .position(|row| Some(&row.target) == target.as_ref());
        let last = self.rows.len().saturating_sub(1);
        self.selected = found.unwrap_or(self.selected).min(last);
    }

    /// Shows a message until the next key.
    pub(super) fn say(&mut self, message: String) {
        self.message = Some(message);
    }

    fn target(&self) -> Option<&Target> {
        self.rows.get(self.selected).map(|row| &row.target)
    }

    /// Takes a key.
    pub(super) fn key(&mut self, key: Key, height: usize) -> Action {
        self.message = None;
        if let Some(target) = self.asked.take() {
            return match key {
                Key::Char('y' | 'Y') => Action::End(target),
                Key::Ctrl('c') => Action::Quit,
                _ => Action::None,
            };
        }
        let page = height.saturating_sub(AROUND).max(1);
        let last = self.rows.len().saturating_sub(1);
        match key {
            Key::Char('q') | Key::Esc | Key::Ctrl('c') => return Action::Quit,
            Key::Up => self.selected = self.selected.saturating_sub(1),
            Key::Down => self.selected = (self.selected + 1).min(last),
            Key::PageUp => self.selected = self.selected.saturating_sub(page),
            Key::PageDown => self.selected = (self.selected + page).min(last),
            Key::Home => self.selected = 0,
            Key::End => self.selected = last,
            Key::Char('k') => match self.target() {
                Some(Target::Process { chat: None, .. }) => {
                    self.say(
                        "this process belongs to no chat: it is ended through the agent API"
                            .to_owned(),
                    );
                }
                target => self.asked = target.cloned(),
            },
            _ => {}
        }
        Action::None
    }

    /// Returns the lines of the screen.
    pub(super) fn lines(&mut self, width: usize, height: usize) -> Vec<Line> {
        let plain = |text: String| Line {
            text: cut(&text, width),
            is_selected: false,
        };
        let mut lines = vec![plain(self.summary()), plain(String::new())];
        let mut table = rows::table(&self.rows, Some(width)).into_iter();
        lines.extend(table.next().map(plain));
        let page = height.saturating_sub(AROUND).max(1);
        self.top = self
            .top
            .clamp((self.selected + 1).saturating_sub(page), self.selected);
        let shown = table.enumerate().skip(self.top).take(page);
        lines.extend(shown.map(|(index, text)| Line {
            text,
            is_selected: index == self.selected,
        }));
        lines.truncate(height.saturating_sub(1));
        lines.resize_with(height.saturating_sub(1), || plain(String::new()));
        lines.push(plain(self.foot()));
        lines
    }

    fn summary(&self) -> String {
        let processes = &self.snapshot.processes;
        let memory = processes.iter().filter_map(|process| process.usage);
        let memory: u64 = memory.map(|usage| usage.memory_bytes).sum();
        let memory = match memory {
            0 => String::new(),
            bytes => format!(", memory: {}", size(bytes)),
        };
        format!(
            "toolhost top   calls: {}, processes: {}{memory}",
            self.snapshot.calls.len(),
            processes.len()
        )
    }

    fn foot(&self) -> String {
        match (&self.asked, &self.message) {
            (Some(target), _) => format!("{}? [y/N]", target.ending()),
            (None, Some(message)) => message.clone(),
            (None, None) => HELP.to_owned(),
        }
    }
}

impl Target {
    /// Returns what ending this does, as a question begins.
    fn ending(&self) -> String {
        match self {
            Self::Call { chat, id } => format!("cancel call {} of chat {}", shown(id), shown(chat)),
            Self::Process { id, command, .. } => {
                format!("end process {} ({})", shown(short_id(id)), shown(command))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn snapshot(at: u64, cpu: u64, processes: &[&str]) -> Snapshot {
        let processes = processes.iter().map(|id| {
            json!({
                "id": id, "chat": "a", "call": "1", "command": "make\u{1b}[2J", "status": "running", "started_at_unix": 1,
                "usage": { "cpu_ms": cpu, "memory_bytes": 5 << 20, "processes": 3 }, "last_line": "cc -o t\u{7} test.c",
            })
        });
        let processes: Vec<_> = processes.collect();
        let calls = [
            json!({ "chat": "a", "id": "1", "tool": "execute", "state": "running", "running_ms": at - 1000 }),
        ];
        let value = json!({ "at_unix_ms": at, "calls": calls, "processes": processes });
        Snapshot::read(&value).unwrap()
    }

    fn drawn(view: &mut View, width: usize, height: usize) -> String {
        let lines = view.lines(width, height);
        assert_eq!(lines.len(), height);
        let lines = lines.iter().map(|line| {
            let mark = if line.is_selected { ">" } else { " " };
            format!("{mark}{}", line.text).trim_end().to_owned()
        });
        lines.collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn the_table_has_calls_and_their_processes() {
        let mut view = View::new(snapshot(5_000, 100, &["p-1", "p-2"]));
        view.update(snapshot(7_000, 1_100, &["p-1", "p-2"]));
        view.key(Key::Down, 8);
        insta::assert_snapshot!(drawn(&mut view, 110, 8), @r"
        toolhost top   calls: 1, processes: 2, memory: 10.0 MiB

        ID     CHAT  WHAT           FOR   CPU%  CPU   MEMORY   PROCESSES  LAST LINE
        1      a     execute        6.0s  -     -     -        -
       >└ p-1  a     make\u{1b}[2J  6.0s  50    1.1s  5.0 MiB  3          cc -o t\u{7} test.c
        └ p-2  a     make\u{1b}[2J  6.0s  50    1.1s  5.0 MiB  3          cc -o t\u{7} test.c

        q quit   up/down select   k end
       ");
        for width in 0..110 {
            for height in 1..9 {
                let lines = view.lines(width, height);
                let wide = |line: &Line| unicode_width::UnicodeWidthStr::width(line.text.as_str());
                assert!(lines.iter().all(|line| wide(line) <= width), "{width}");
            }
        }
    }

    #[test]
    fn the_selection_stays_where_it_is() {
        let mut view = View::new(snapshot(5_000, 0, &["p-1", "p-2", "p-3"]));
        for _ in 0..9 {
            assert_eq!(view.key(Key::Down, 24), Action::None);
        }
        let is = |view: &View, id: &str| matches!(view.target(), Some(Target::Process { id: own, .. }) if own == id);
        assert!(is(&view, "p-3"));
        view.update(snapshot(6_000, 0, &["p-3", "p-4"]));
        assert!(is(&view, "p-3"));
        view.update(snapshot(7_000, 0, &["p-4"]));
        assert!(is(&view, "p-4"));
        view.key(Key::Home, 24);
        assert!(matches!(view.target(), Some(Target::Call { .. })));
    }

    #[test]
    fn nothing_is_ended_without_a_yes() {
        let mut view = View::new(snapshot(5_000, 0, &["p-1"]));
        view.key(Key::Down, 24);
        for no in [Key::Char('n'), Key::Char('\n'), Key::Esc, Key::Down] {
            assert_eq!(view.key(Key::Char('k'), 24), Action::None);
            assert!(drawn(&mut view, 80, 9).contains("end process p-1 (make\\u{1b}[2J)? [y/N]"));
            assert_eq!(view.key(no, 24), Action::None);
        }
        view.key(Key::Char('k'), 24);
        let Action::End(target) = view.key(Key::Char('y'), 24) else {
            panic!("it is not ended")
        };
        assert!(matches!(target, Target::Process { id, .. } if id == "p-1"));
        assert_eq!(view.key(Key::Char('q'), 24), Action::Quit);
        // Without anything that runs, there is nothing to ask about.
        view.update(
            Snapshot::read(&json!({ "at_unix_ms": 1, "calls": [], "processes": [] })).unwrap(),
        );
        assert_eq!(view.key(Key::Char('k'), 24), Action::None);
        assert!(drawn(&mut view, 80, 9).ends_with(HELP));
    }
}

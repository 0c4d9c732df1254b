//! The view of `toolhost top`: a table with a selected row, a question, and the state of the keys.

use termion::event::Key;

use super::rows::{self, Order, Row, Target};
use crate::cli::remote::Snapshot;
use crate::cli::table::{cut, short_id, size};
use toolhost_plugin::shown;

const HELP: &str = "q quit   ↑↓ select   k end   s sort   / filter";

/// The end of a question, which is always to be seen.
const ANSWERS: &str = "? [y/N]";

/// The lines above and below the rows.
const AROUND: usize = 4;

/// The state of the table.
pub(super) struct View {
    snapshot: Snapshot,
    /// All rows, in the order of chats.
    all: Vec<Row>,
    rows: Vec<Row>,
    selected: usize,
    /// The first row that is shown.
    top: usize,
    order: Order,
    /// The text that the rows have; empty: all of them are shown.
    filter: String,
    /// Whether keys go to the filter.
    is_typing: bool,
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
        let all = rows::of(&snapshot, None);
        Self {
            rows: all.clone(),
            all,
            snapshot,
            selected: 0,
            top: 0,
            order: Order::default(),
            filter: String::new(),
            is_typing: false,
            asked: None,
            message: None,
        }
    }

    /// Shows another snapshot. The selection stays at its call or process while there is that.
    pub(super) fn update(&mut self, snapshot: Snapshot) {
        let all = rows::of(&snapshot, Some(&self.snapshot));
        self.snapshot = snapshot;
        self.show(all);
    }

    /// Shows those of these rows that fit the filter, in the order that was chosen.
    fn show(&mut self, all: Vec<Row>) {
        let target = self.target().cloned();
        let mut rows = all.clone();
        rows.retain(|row| row.has(&self.filter));
        rows::sort(&mut rows, self.order);
        (self.all, self.rows) = (all, rows);
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
        if self.is_typing {
            return self.typed(key);
        }
        let page = height.saturating_sub(AROUND).max(1);
        let last = self.rows.len().saturating_sub(1);
        match key {
            Key::Esc if !self.filter.is_empty() => self.filter_by(String::new()),
            Key::Char('/') => self.is_typing = true,
            Key::Char('s') => {
                self.order = self.order.next();
                self.show(self.all.clone());
            }
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

    /// Takes a key of the filter.
    fn typed(&mut self, key: Key) -> Action {
        let mut text = self.filter.clone();
        match key {
            Key::Ctrl('c') => return Action::Quit,
            Key::Char('\n') => self.is_typing = false,
            Key::Esc => {
                self.is_typing = false;
                text.clear();
            }
            Key::Backspace => _ = text.pop(),
            Key::Char(c) if !c.is_control() => text.push(c),
            _ => {}
        }
        self.filter_by(text);
        Action::None
    }

    fn filter_by(&mut self, text: String) {
        if text != self.filter {
            self.filter = text;
            self.show(self.all.clone());
        }
    }

    /// Returns the lines of the screen.
    pub(super) fn lines(&mut self, width: usize, height: usize) -> Vec<Line> {
        let plain = |text: String| Line {
            text: cut(&text, width),
            is_selected: false,
        };
        let page = height.saturating_sub(AROUND).max(1);
        self.top = self
            .top
            .clamp((self.selected + 1).saturating_sub(page), self.selected);
        let mut lines = vec![plain(self.summary()), plain(self.shown_rows(page))];
        let mut table = rows::table(&self.rows, Some(width)).into_iter();
        lines.extend(table.next().map(plain));
        let shown = table.enumerate().skip(self.top).take(page);
        lines.extend(shown.map(|(index, text)| Line {
            text,
            is_selected: index == self.selected,
        }));
        lines.truncate(height.saturating_sub(1));
        lines.resize_with(height.saturating_sub(1), || plain(String::new()));
        lines.push(plain(self.foot(width)));
        lines
    }

    /// Says which rows are shown, unless they are all of them in their usual order.
    fn shown_rows(&self, page: usize) -> String {
        let mut parts = Vec::new();
        if self.rows.len() > page {
            let last = (self.top + page).min(self.rows.len());
            let more = match (self.top > 0, last < self.rows.len()) {
                (true, true) => " ↑↓",
                (true, false) => " ↑",
                (false, _) => " ↓",
            };
            let (first, all) = (self.top + 1, self.rows.len());
            parts.push(format!("rows {first}-{last} of {all}{more}"));
        }
        if self.order != Order::default() {
            parts.push(format!("sorted by {}", self.order.name()));
        }
        if !self.filter.is_empty() && !self.is_typing {
            let (shown, all) = (self.rows.len(), self.all.len());
            parts.push(format!("{shown} of {all} with {:?}", self.filter));
        }
        parts.join(", ")
    }

    fn summary(&self) -> String {
        let processes = &self.snapshot.processes;
        let memory = processes.iter().filter_map(|process| process.usage);
        let memory: u64 = memory.map(|usage| usage.memory_bytes).sum();
        let memory = match memory {
            0 => String::new(),
            bytes => format!(", memory: {}", size(bytes)),
        };
        let missing = match &*self.snapshot.unanswered {
            [] => String::new(),
            names => format!(", no answer from {}", names.join(", ")),
        };
        format!(
            "toolhost top   calls: {}, processes: {}{memory}{missing}",
            self.snapshot.calls.len(),
            processes.len()
        )
    }

    fn foot(&self, width: usize) -> String {
        match (&self.asked, &self.message) {
            (Some(target), _) => {
                let room = width.saturating_sub(ANSWERS.len());
                format!("{}{ANSWERS}", cut(&target.ending(), room))
            }
            (None, Some(message)) => message.clone(),
            (None, None) if self.is_typing => {
                format!("filter: {}_   Enter keeps it, Esc shows all", self.filter)
            }
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

        q quit   ↑↓ select   k end   s sort   / filter
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

    #[test]
    fn the_answers_of_a_question_are_always_to_be_seen() {
        let command =
            "i=0; while true; do i=$((i + 1)); echo a little text that goes on; sleep 1; done"
                .repeat(3);
        let processes = [
            json!({ "id": "3792acc7-fb9f", "chat": "a", "command": command, "status": "running" }),
        ];
        let value = json!({ "at_unix_ms": 1, "calls": [], "processes": processes });
        let mut view = View::new(Snapshot::read(&value).unwrap());
        view.key(Key::Char('k'), 24);
        for width in [20, 50, 80, 120, 200] {
            let foot = drawn(&mut view, width, 9)
                .lines()
                .last()
                .unwrap()
                .to_owned();
            assert!(foot.starts_with(" end process"), "{foot}");
            assert!(foot.ends_with("? [y/N]"), "{width}: {foot}");
        }
    }

    /// A snapshot of forty processes, each with more memory than the one before.
    fn many() -> Snapshot {
        let processes = (0..40).map(|number| {
            json!({
                "id": format!("process-{number:02}"), "chat": format!("chat-{}", number % 4), "command": format!("worker {number} --long"),
                "status": "running", "started_at_unix_ms": 1_000_000 - number,
                "usage": { "cpu_ms": 100, "memory_bytes": (number + 1) << 20, "processes": 1 }, "last_line": "a line",
            })
        });
        let processes: Vec<_> = processes.collect();
        let value = json!({ "at_unix_ms": 1_400_000, "calls": [], "processes": processes });
        Snapshot::read(&value).unwrap()
    }

    #[test]
    fn rows_beyond_the_screen_are_told() {
        let mut view = View::new(many());
        assert!(drawn(&mut view, 80, 14).contains("rows 1-10 of 40 ↓"));
        view.key(Key::PageDown, 14);
        view.key(Key::Down, 14);
        assert!(drawn(&mut view, 80, 14).contains("rows 3-12 of 40 ↑↓"));
        view.key(Key::End, 14);
        assert!(drawn(&mut view, 80, 14).contains("rows 31-40 of 40 ↑"));
        assert!(!drawn(&mut view, 80, 60).contains("rows"));
    }

    #[test]
    fn rows_are_sorted_and_filtered() {
        let mut view = View::new(many());
        let first = |view: &mut View| drawn(view, 80, 14).lines().nth(3).unwrap().to_owned();
        assert!(
            first(&mut view).contains("worker 36"),
            "by chat, oldest first"
        );
        for (order, expected) in [
            ("CPU", "worker 36"),
            ("memory", "worker 39"),
            ("time", "worker 39"),
        ] {
            view.key(Key::Char('s'), 14);
            view.key(Key::Home, 14);
            assert!(drawn(&mut view, 80, 14).contains(&format!("sorted by {order}")));
            assert!(
                first(&mut view).contains(expected),
                "{order}: {}",
                first(&mut view)
            );
        }
        for key in "/WORKER 1q".chars() {
            view.key(Key::Char(key), 14);
        }
        assert!(drawn(&mut view, 80, 14).contains("filter: WORKER 1q_"));
        view.key(Key::Backspace, 14);
        assert_eq!(view.key(Key::Char('\n'), 14), Action::None);
        // 1, and 10 to 19.
        assert!(drawn(&mut view, 80, 14).contains("11 of 40 with \"WORKER 1\""));
        view.update(many());
        assert_eq!(view.rows.len(), 11);
        assert_eq!(view.key(Key::Esc, 14), Action::None);
        assert_eq!(view.rows.len(), 40);
        assert_eq!(view.key(Key::Esc, 14), Action::Quit);
    }

    #[test]
    fn a_narrow_terminal_has_the_columns_that_matter() {
        let mut view = View::new(many());
        view.update(many());
        insta::assert_snapshot!(drawn(&mut view, 50, 6), @r"
        toolhost top   calls: 0, processes: 40, memory: 8…
        rows 1-2 of 40 ↓
        ID          WHAT             FOR    CPU%  MEMORY
       >process-36  worker 36 --lo…  6m40s  -     37.0 MiB
        process-32  worker 32 --lo…  6m40s  -     33.0 MiB
        q quit   ↑↓ select   k end   s sort   / filter
       ");
        insta::assert_snapshot!(drawn(&mut view, 30, 6), @r"
        toolhost top   calls: 0, proc…
        rows 1-2 of 40 ↓
        WHAT              FOR    CPU%
       >worker 36 --long  6m40s  -
        worker 32 --long  6m40s  -
        q quit   ↑↓ select   k end   …
       ");
    }
}

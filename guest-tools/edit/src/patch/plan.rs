//! The sections of a patch made in memory, one after the other, and what they change together.

use std::collections::BTreeSet;

use super::section::{Action, Destination, Section};
use super::values::{Body, Change, Done, PatchFiles, Shown};
use crate::encoding::{Encoding, Text};
use crate::matcher::{self, BOM, Hunk, Sign};
use crate::path::clean;
use crate::plan::{Kind, MAX_EDITS, Problem};

/// How many times the bytes that are written the files may have in memory, before and after. They are copied about four times on their way,
/// and a guest has 256 MiB.
const HELD: usize = 6;

/// How many times the bytes that are written may be kept to be shown, before and after each section.
const SHOWN: usize = 4;

/// How many bytes a change needs besides its paths and its data where it is handed to the host.
const AROUND: usize = 256;

/// A file that the patch names.
#[derive(Debug)]
struct State {
    path: String,
    /// The path resolved by name.
    cleaned: String,
    identity: Option<String>,
    version: Option<String>,
    before: Option<Body>,
    now: Option<Body>,
    /// The file that was moved here.
    moved_from: Option<usize>,
}

/// Makes the sections in memory. See [`super::apply`].
pub(super) fn plan<F: PatchFiles>(
    sections: &[Section<'_>],
    base: Option<&str>,
    most: usize,
    files: &mut F,
) -> Result<(Vec<Change>, Vec<Shown>), Vec<Problem>> {
    let hunks = sections.iter().map(|section| hunks_of(section).len());
    let hunks: usize = hunks.map(|hunks| hunks.max(1)).sum();
    if hunks > MAX_EDITS {
        let text = format!("{hunks} hunks are too many for one call, which takes {MAX_EDITS}");
        return Err(vec![invalid(text)]);
    }
    let mut plan = Plan {
        base,
        states: Vec::new(),
    };
    let (mut shown, mut problems, mut failed) = (Vec::new(), Vec::new(), BTreeSet::new());
    for section in sections {
        if failed.contains(&section.path) {
            continue;
        }
        match plan.apply(section, files) {
            Ok(one) => shown.push(one),
            Err(problem) => {
                // Further sections of the file would say the same.
                failed.insert(section.path.clone());
                problems.push(problem);
            }
        }
        // A file that has many sections is kept once for each, to be shown.
        let kept: usize = shown.iter().map(Shown::size).sum();
        if plan.size() > HELD * most || kept > SHOWN * most {
            let text =
                "the files together are too large for the memory of one call; patch fewer at once";
            return Err(vec![invalid(text)]);
        }
    }
    if !problems.is_empty() {
        return Err(problems);
    }
    Ok((plan.changes(most)?, shown))
}

fn hunks_of<'s, 'a>(section: &'s Section<'a>) -> &'s [Hunk<'a>] {
    match &section.action {
        Action::Add { .. } => &[],
        Action::Delete { hunks } | Action::Update { hunks, .. } => hunks,
    }
}

fn invalid(text: impl Into<String>) -> Problem {
    Problem::new(Kind::Invalid, text)
}

struct Plan<'b> {
    base: Option<&'b str>,
    states: Vec<State>,
}

impl Plan<'_> {
    /// Returns how many bytes are held of all files, before and after.
    fn size(&self) -> usize {
        let bodies = self
            .states
            .iter()
            .flat_map(|state| [&state.before, &state.now]);
        bodies.flatten().map(Body::size).sum()
    }

    fn apply<F: PatchFiles>(
        &mut self,
        section: &Section<'_>,
        files: &mut F,
    ) -> Result<Shown, Problem> {
        let path = &*section.path;
        let mut notes: Vec<_> = section.note.iter().cloned().collect();
        match &section.action {
            Action::Add { content, replaces } => self.add(path, content, *replaces, notes, files),
            Action::Delete { hunks } => self.delete(path, hunks, notes, files),
            Action::Update { hunks, to, other } => {
                let mut path = path;
                let mut index = self.look(path, files)?;
                if let Some(other) = other
                    && self.now(index).is_none()
                {
                    let second = self.look(other, files)?;
                    if self.now(second).is_some() {
                        notes.push(format!("there is no {path}, so {other} was patched"));
                        (path, index) = (other, second);
                    }
                }
                let is_new = to.is_none() && self.now(index).is_none() && is_of_nothing(hunks);
                if is_new {
                    let mut content = Vec::new();
                    for line in hunks.iter().flat_map(|hunk| &hunk.lines) {
                        content.extend_from_slice(line.line.text);
                        content.extend_from_slice(line.line.ending.bytes());
                    }
                    let content = String::from_utf8_lossy(&content);
                    return self.add(path, &content, false, notes, files);
                }
                self.update(path, index, hunks, to.as_ref(), notes, files)
            }
        }
    }

    fn add<F: PatchFiles>(
        &mut self,
        path: &str,
        content: &str,
        replaces: bool,
        mut notes: Vec<String>,
        files: &mut F,
    ) -> Result<Shown, Problem> {
        let index = self.look(path, files)?;
        let old = self.now(index).map(Body::shown);
        if old.is_some() {
            if !replaces {
                return Err(invalid(format!(
                    "add {path}: the file exists; to change it, write a hunk with its lines, or delete it first"
                )));
            }
            notes.push("the file existed, and was replaced".to_owned());
        }
        let new = content.as_bytes().to_vec();
        self.set(index, Some(Body::utf8(new.clone())), None);
        Ok(Shown {
            path: path.to_owned(),
            done: Done::Added,
            to: None,
            notes,
            encoding: Encoding::Utf8,
            old: old.unwrap_or_default(),
            new,
        })
    }

    fn delete<F: PatchFiles>(
        &mut self,
        path: &str,
        hunks: &[Hunk<'_>],
        mut notes: Vec<String>,
        files: &mut F,
    ) -> Result<Shown, Problem> {
        let index = self.look(path, files)?;
        let body = self.existing(path, index, true, files)?;
        if !hunks.is_empty() {
            let (text, _) = patched(path, &body, hunks)?;
            if !text.strip_prefix(BOM).unwrap_or(&text).is_empty() {
                return Err(invalid(format!(
                    "delete {path}: the file has lines that the patch does not name, and they would be lost; read it again"
                )));
            }
        }
        if let Body::Other(_, why) = &body {
            notes.push(format!("there is no diff: {why}"));
        }
        self.set(index, None, None);
        Ok(Shown {
            path: path.to_owned(),
            done: Done::Deleted,
            to: None,
            notes,
            encoding: body.encoding(),
            old: body.shown(),
            new: Vec::new(),
        })
    }

    fn update<F: PatchFiles>(
        &mut self,
        path: &str,
        index: usize,
        hunks: &[Hunk<'_>],
        to: Option<&Destination<'_>>,
        mut notes: Vec<String>,
        files: &mut F,
    ) -> Result<Shown, Problem> {
        let body = self.existing(path, index, false, files)?;
        let (old, encoding) = (body.shown(), body.encoding());
        let new = match (hunks.is_empty(), &body) {
            // A file that is only moved can be of any kind, if it was read as a whole.
            (true, Body::Other(data, why)) if data.is_none() && to.is_some() => {
                return Err(invalid(format!("edit {path}: {why}")));
            }
            (true, _) => body.clone(),
            (false, _) => {
                let (text, ambiguous) = patched(path, &body, hunks)?;
                notes.extend(ambiguous);
                Body::Text(Text {
                    encoding,
                    bytes: text,
                })
            }
        };
        let shown = new.shown();
        let mut done = Done::Updated;
        match to {
            None => {
                if shown == old {
                    notes.push("nothing changed: the new text is the old one".to_owned());
                }
                self.set(index, Some(new), None);
            }
            Some(to) => {
                done = if to.is_copy {
                    Done::Copied
                } else {
                    Done::Moved
                };
                let target = self.look(&to.path, files)?;
                if target == index && to.is_copy {
                    return Err(invalid(format!("copy {path}: it is copied to itself")));
                }
                if target != index && self.now(target).is_some() {
                    if !to.replaces {
                        let to = &to.path;
                        return Err(invalid(format!(
                            "move {path}: {to} exists; delete it first"
                        )));
                    }
                    notes.push(format!("{} existed, and was replaced", to.path));
                }
                let from = (target != index && !to.is_copy).then_some(index);
                self.set(target, Some(new), from);
                if let Some(from) = from {
                    self.set(from, None, None);
                }
            }
        }
        Ok(Shown {
            path: path.to_owned(),
            done,
            to: to.map(|to| to.path.to_string()),
            notes,
            encoding,
            old,
            new: shown,
        })
    }

    /// Returns the index of the file at a path, which is read if the patch did not name it yet.
    fn look<F: PatchFiles>(&mut self, path: &str, files: &mut F) -> Result<usize, Problem> {
        let absolute = || invalid(format!("file path must be absolute: {path:?}"));
        let cleaned = clean(path, self.base).ok_or_else(absolute)?;
        let known = self
            .states
            .iter()
            .position(|state| state.cleaned == cleaned);
        if let Some(known) = known {
            return Ok(known);
        }
        let seen = files.look(path).map_err(|problem| Problem {
            text: format!("open {path}: {problem}"),
            ..problem
        })?;
        let identity = seen.as_ref().map(|seen| seen.content.identity.clone());
        let same = |state: &&State| identity.is_some() && state.identity == identity;
        if let Some(other) = self.states.iter().find(same) {
            return Err(invalid(format!(
                "duplicate file path {path:?} aliases {:?} (same real file): use one path for it",
                other.path
            )));
        }
        let version = seen.as_ref().map(|seen| seen.content.version.clone());
        let before = seen.map(Body::of);
        self.states.push(State {
            path: path.to_owned(),
            cleaned,
            identity,
            version,
            now: before.clone(),
            before,
            moved_from: None,
        });
        Ok(self.states.len() - 1)
    }

    fn now(&self, index: usize) -> Option<&Body> {
        self.states.get(index)?.now.as_ref()
    }

    fn existing<F: PatchFiles>(
        &self,
        path: &str,
        index: usize,
        deletes: bool,
        files: &mut F,
    ) -> Result<Body, Problem> {
        match self.states.get(index) {
            Some(State {
                now: Some(body), ..
            }) => Ok(body.clone()),
            Some(State {
                before: Some(_), ..
            }) => Err(invalid(format!(
                "open {path}: the patch has moved or deleted the file before"
            ))),
            _ => {
                let advice = files.advice(path, deletes);
                let text = format!("open {path}: no such file or directory; {advice}");
                Err(Problem::new(Kind::NotFound, text))
            }
        }
    }

    fn set(&mut self, index: usize, now: Option<Body>, moved_from: Option<usize>) {
        let origin = moved_from.map(|from| {
            let from_state = self.states.get(from);
            from_state
                .and_then(|state| state.moved_from)
                .unwrap_or(from)
        });
        if let Some(state) = self.states.get_mut(index) {
            state.moved_from = origin.filter(|origin| *origin != index);
            state.now = now;
        }
    }

    /// Returns the changes of all files together, which write at most so many bytes.
    fn changes(&self, most: usize) -> Result<Vec<Change>, Vec<Problem>> {
        let mut written: usize = 0;
        let mut problems = Vec::new();
        let mut changes = Vec::new();
        for state in &self.states {
            let is_changed = state.now != state.before;
            let data = match state.encoded() {
                _ if !is_changed => None,
                Ok(data) => data,
                Err(problem) => {
                    problems.push(problem);
                    continue;
                }
            };
            if is_changed {
                let data = data.as_ref().map_or(0, Vec::len);
                written += data + state.path.len() + AROUND;
            }
            if written > most {
                let text = format!(
                    "the files together are too large for one call, which writes {most} bytes; patch fewer at once"
                );
                return Err(vec![invalid(text)]);
            }
            let origin = state.moved_from.and_then(|from| self.states.get(from));
            let origin = origin.filter(|from| state.before.is_none() && from.now.is_none());
            changes.push(Change {
                path: state.path.clone(),
                version: state.version.clone(),
                data,
                moved_from: origin.map(|from| from.path.clone()),
                is_changed,
                text: match &state.before {
                    Some(Body::Text(text)) => Some(text.clone()),
                    _ => None,
                },
            });
        }
        match problems.is_empty() {
            true => Ok(changes),
            false => Err(problems),
        }
    }
}

impl State {
    /// Returns the bytes that the file becomes; `None` if there is none.
    fn encoded(&self) -> Result<Option<Vec<u8>>, Problem> {
        match &self.now {
            None => Ok(None),
            Some(Body::Other(Some(data), _)) => Ok(Some(data.clone())),
            Some(Body::Other(None, why)) => Err(invalid(format!("edit {}: {why}", self.path))),
            Some(Body::Text(text)) => text.encoded(&text.bytes).map(Some).map_err(|problem| {
                let path = &self.path;
                let advice = "use other characters, or convert the file to UTF-8 first";
                invalid(format!("edit {path}: {problem}; {advice}"))
            }),
        }
    }
}

/// Returns whether hunks are those of a file that is not there: they add lines to no lines.
fn is_of_nothing(hunks: &[Hunk<'_>]) -> bool {
    let adds = |hunk: &Hunk<'_>| hunk.lines.iter().all(|line| line.sign == Sign::Added);
    !hunks.is_empty()
        && hunks
            .iter()
            .all(|hunk| hunk.number == Some(0) && adds(hunk))
}

/// Returns the text of a file with hunks applied, and notes on those that fit several places.
fn patched(path: &str, body: &Body, hunks: &[Hunk<'_>]) -> Result<(Vec<u8>, Vec<String>), Problem> {
    let text = match body {
        Body::Text(text) => text,
        Body::Other(_, why) => return Err(invalid(format!("edit {path}: {why}"))),
    };
    let patched = matcher::patch(&text.bytes, hunks).map_err(|(index, misfit)| {
        let which = match hunks.len() {
            1 => String::new(),
            count => format!(" (hunk {} of {count})", index + 1),
        };
        invalid(format!("edit {path}{which}: {misfit}"))
    })?;
    let notes = patched.ambiguous.iter().map(|(hunk, places, line)| {
        format!(
            "hunk {hunk} fits {places} places, and the first one was taken, line {line}; to name another, add context or an @@ line"
        )
    });
    Ok((patched.bytes, notes.collect()))
}

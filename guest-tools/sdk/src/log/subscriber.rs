//! The events of the crate `tracing`, as lines of the host's log: the spans around an event stand before it.

use std::cell::RefCell;
use std::fmt::{Debug, Write as _};

use tracing::field::{Field, Visit};
use tracing::level_filters::LevelFilter;
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::set_global_default;
use tracing::{Event, Level, Metadata, Subscriber};

#[derive(Debug)]
struct ToHost;

/// Takes the events, unless the plugin has set a subscriber of its own before.
pub(crate) fn install() {
    let _ = set_global_default(ToHost);
}

/// The spans of this thread. A component has one thread.
#[derive(Debug, Default)]
struct Spans {
    made: u64,
    open: Vec<Span>,
    /// Those that were entered, the innermost one last. A span can be in here twice.
    entered: Vec<Id>,
}

#[derive(Debug)]
struct Span {
    id: Id,
    name: &'static str,
    fields: String,
    handles: usize,
}

thread_local! {
    static SPANS: RefCell<Spans> = RefCell::default();
}

impl Spans {
    fn get(&mut self, id: &Id) -> Option<&mut Span> {
        self.open.iter_mut().find(|span| span.id == *id)
    }
}

/// Writes fields as `name=value`, and keeps the message apart.
#[derive(Default)]
struct Fields {
    message: String,
    others: String,
}

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        // Writing to a `String` does not fail.
        let _ = match field.name() {
            "message" => write!(self.message, "{value:?}"),
            name => write!(self.others, " {name}={value:?}"),
        };
    }
}

impl Subscriber for ToHost {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() <= Level::DEBUG
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(LevelFilter::DEBUG)
    }

    fn new_span(&self, attributes: &Attributes<'_>) -> Id {
        let mut fields = Fields::default();
        attributes.record(&mut fields);
        SPANS.with_borrow_mut(|spans| {
            spans.made += 1;
            let id = Id::from_u64(spans.made);
            spans.open.push(Span {
                id: id.clone(),
                name: attributes.metadata().name(),
                fields: fields.others,
                handles: 1,
            });
            id
        })
    }

    fn record(&self, id: &Id, values: &Record<'_>) {
        let mut fields = Fields::default();
        values.record(&mut fields);
        SPANS.with_borrow_mut(|spans| {
            if let Some(span) = spans.get(id) {
                span.fields.push_str(&fields.others);
            }
        });
    }

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut fields = Fields::default();
        event.record(&mut fields);
        let metadata = event.metadata();
        let mut line = format!("{}: ", metadata.target());
        SPANS.with_borrow_mut(|spans| {
            for id in &spans.entered {
                let span = spans.open.iter().find(|span| span.id == *id);
                if let Some(span) = span {
                    let _ = write!(line, "{}{{{}}}: ", span.name, span.fields.trim_start());
                }
            }
        });
        line.push_str(&fields.message);
        line.push_str(match fields.message.is_empty() {
            true => fields.others.trim_start(),
            false => &fields.others,
        });
        match *metadata.level() {
            Level::ERROR => super::error(&line),
            Level::WARN => super::warn(&line),
            Level::INFO => super::info(&line),
            _ => super::debug(&line),
        }
    }

    fn enter(&self, id: &Id) {
        SPANS.with_borrow_mut(|spans| spans.entered.push(id.clone()));
    }

    fn exit(&self, id: &Id) {
        SPANS.with_borrow_mut(|spans| {
            if let Some(at) = spans.entered.iter().rposition(|entered| entered == id) {
                spans.entered.remove(at);
            }
        });
    }

    fn clone_span(&self, id: &Id) -> Id {
        SPANS.with_borrow_mut(|spans| {
            if let Some(span) = spans.get(id) {
                span.handles += 1;
            }
        });
        id.clone()
    }

    fn try_close(&self, id: Id) -> bool {
        SPANS.with_borrow_mut(|spans| {
            let Some(span) = spans.get(&id) else {
                return false;
            };
            span.handles -= 1;
            let is_closed = span.handles == 0;
            if is_closed {
                spans.open.retain(|span| span.id != id);
            }
            is_closed
        })
    }
}

#[cfg(test)]
mod tests {
    use tracing::field::Empty;

    use super::*;
    use crate::testing::surroundings;

    fn logged() -> Vec<String> {
        surroundings(|now| std::mem::take(&mut now.logged))
    }

    #[test]
    fn events_go_to_the_host_with_their_fields() {
        crate::log::install();
        tracing::error!(target: "cache", size = 3, "full of {}", "a");
        tracing::warn!(name = "b", path = %"c/d");
        tracing::info!("e");
        tracing::debug!("f");
        tracing::trace!("g");
        let here = module_path!();
        let expected = [
            "error: cache: full of a size=3".to_owned(),
            format!("warn: {here}: name=\"b\" path=c/d"),
            format!("info: {here}: e"),
            format!("debug: {here}: f"),
        ];
        assert_eq!(logged(), expected);
    }

    #[test]
    fn spans_stand_before_their_events() {
        crate::log::install();
        let outer = tracing::info_span!("outer", id = 1, rows = Empty);
        let other = outer.clone();
        {
            let _outer = outer.enter();
            tracing::info!(target: "t", "a");
            outer.record("rows", 2);
            tracing::info_span!("inner").in_scope(|| {
                tracing::info!(target: "t", "b");
            });
        }
        drop(outer);
        other.in_scope(|| tracing::info!(target: "t", "c"));
        drop(other);
        tracing::info!(target: "t", "d");
        let expected = [
            "info: t: outer{id=1}: a",
            "info: t: outer{id=1 rows=2}: inner{}: b",
            "info: t: outer{id=1 rows=2}: c",
            "info: t: d",
        ];
        assert_eq!(logged(), expected);
        assert!(SPANS.with_borrow(|spans| spans.open.is_empty()));
    }
}

//! Properties of the journal, for any entries in any order.

use std::path::PathBuf;

use proptest::prelude::*;

use super::*;

/// The rules of `Knowledge`, in the simplest way there is.
fn model(entries: &[Entry]) -> Vec<Recovered> {
    let mut known: Vec<Recovered> = Vec::new();
    for entry in entries {
        match entry.clone() {
            Entry::Started(started) => {
                if known.iter().all(|record| record.started.id != started.id) {
                    known.push(Recovered {
                        started,
                        exited: None,
                        end: None,
                        gone: false,
                    });
                }
            }
            Entry::Forgotten { id } => known.retain(|record| record.started.id != id),
            Entry::ChatEnded { chat } => {
                known.retain(|record| record.started.chat.as_ref() != Some(&chat));
            }
            Entry::Exited(exited) => {
                for record in &mut known {
                    if record.started.id == exited.id && record.exited.is_none() {
                        record.exited = Some(exited.clone());
                    }
                }
            }
            Entry::Ended(ended) => {
                for record in &mut known {
                    let better = !matches!(record.end, Some(End::Exited(_)));
                    if record.started.id == ended.id && better {
                        record.end = Some(End::Exited(ended.clone()));
                    }
                }
            }
            Entry::Lost(lost) => {
                for record in &mut known {
                    if record.started.id == lost.id && record.end.is_none() {
                        record.end = Some(End::Lost(lost.clone()));
                    }
                }
            }
            Entry::Gone { id } => {
                for record in &mut known {
                    record.gone |= record.started.id == id;
                }
            }
        }
    }
    known
}

fn causes() -> impl Strategy<Value = Cause> {
    prop_oneof![
        Just(Cause::Itself),
        Just(Cause::Signalled),
        Just(Cause::OutputLimit),
        Just(Cause::OutOfMemory),
        Just(Cause::Shutdown),
        Just(Cause::Cancelled),
    ]
}

fn entries() -> impl Strategy<Value = Entry> {
    let id = "[a-d]";
    let saving = prop_oneof![
        Just(Saving::Complete),
        Just(Saving::Partial),
        ".{0,9}".prop_map(Saving::Failed)
    ];
    let status = (any::<Option<i32>>(), any::<Option<String>>(), causes())
        .prop_map(|(code, signal, cause)| ExitStatus {
            code,
            signal,
            cause,
        })
        .boxed();
    let time = (0..u64::from(u32::MAX) * 1000).prop_map(at);
    let start = (
        id,
        prop::option::of("[xy]"),
        any::<String>(),
        any::<bool>(),
        time.clone(),
        prop::option::of((".{0,5}", ".{0,5}")),
        prop::option::of(".{0,5}"),
    )
        .prop_map(
            |(id, chat, text, background, started, output, key)| Started {
                id,
                chat: chat.map(|chat| chat.parse().unwrap()),
                workdir: PathBuf::from(format!("/{text}")),
                command: text,
                background,
                started,
                output: output.map(|(directory, file)| Location { directory, file }),
                key,
            },
        );
    let times = (time.clone(), time.clone());
    let exit = (id, status.clone(), time.clone()).prop_map(|(id, status, exited)| Exited {
        id,
        status,
        exited,
    });
    let end = (
        id,
        status,
        times,
        any::<u64>(),
        any::<u64>(),
        prop::option::of(saving.clone()),
    )
        .prop_map(
            |(id, status, (exited, over), total, saved_bytes, saving)| Ended {
                id,
                status,
                exited,
                over,
                total,
                saved_bytes,
                saving,
            },
        );
    let saved = (any::<u64>(), prop::option::of(saving));
    let loss = (id, any::<String>(), time, any::<u64>(), saved).prop_map(
        |(id, why, when, total, (saved_bytes, saving))| Lost {
            id,
            why,
            when,
            total,
            saved_bytes,
            saving,
        },
    );
    prop_oneof![
        6 => start.prop_map(Entry::Started),
        2 => exit.prop_map(Entry::Exited),
        3 => end.prop_map(Entry::Ended),
        2 => loss.prop_map(Entry::Lost),
        1 => id.prop_map(|id| Entry::Gone { id }),
        1 => id.prop_map(|id| Entry::Forgotten { id }),
        1 => "[xy]".prop_map(|chat| Entry::ChatEnded { chat: chat.parse().unwrap() }),
    ]
}

proptest! {
    // Each opens files several times.
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn what_was_appended_is_recovered_and_rewriting_keeps_it(
        entries in prop::collection::vec(entries(), 0..30),
    ) {
        let (_base, state) = state();
        let (journal, known) = open(&state).unwrap();
        prop_assert!(known.is_empty());
        let (before, after) = entries.split_at(entries.len() / 2);
        before.iter().for_each(|entry| journal.append(entry));
        journal.shared.as_ref().unwrap().rewrite().unwrap();
        after.iter().for_each(|entry| journal.append(entry));
        drop(journal);
        let expected = model(&entries);
        prop_assert_eq!(&recover(&state), &expected);
        let compacted = content(&state);
        prop_assert_eq!(&recover(&state), &expected);
        prop_assert_eq!(content(&state), compacted, "there is nothing more to leave out");
    }

    #[test]
    fn a_truncated_file_recovers_a_prefix(
        entries in prop::collection::vec(entries(), 0..8),
        cut in any::<prop::sample::Index>(),
    ) {
        let (_base, state) = state();
        let text = text_of(&entries);
        let kept = &text[..cut.index(text.len() + 1)];
        state.write(Knowledge::FILE, kept).unwrap();
        let whole = kept.split(|byte| *byte == b'\n').skip(1);
        let whole = whole.filter(|line| line.ends_with(b"}")
            && serde_json::from_slice::<serde_json::Value>(line).is_ok());
        let count = whole.count();
        prop_assert_eq!(recover(&state), model(&entries[..count]));
    }

    #[test]
    fn garbage_between_lines_is_skipped(
        entries in prop::collection::vec((entries(), prop::collection::vec(any::<u8>(), 0..40)), 0..8),
    ) {
        let (_base, state) = state();
        let mut text = header(Knowledge::SUBJECT).into_bytes();
        for (entry, garbage) in &entries {
            text.extend(garbage.iter().filter(|byte| **byte != b'{'));
            text.push(b'\n');
            text.extend(line::<Knowledge>(entry).unwrap());
        }
        state.write(Knowledge::FILE, &text).unwrap();
        let entries: Vec<_> = entries.into_iter().map(|(entry, _)| entry).collect();
        prop_assert_eq!(recover(&state), model(&entries));
    }
}

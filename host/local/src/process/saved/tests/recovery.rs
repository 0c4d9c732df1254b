//! The outputs that an earlier run left.

use super::*;

/// An output of so many bytes, of which so many were saved.
fn known(total: u64, saved: u64) -> Option<Known> {
    Some(Known {
        total,
        saved,
        failure: None,
    })
}

#[tokio::test]
async fn outputs_are_found_again_and_count() {
    let Fixture { store, base } = Fixture::new(SaveLimits::default());
    let chat = store.chat();
    let output = filled(&chat, 500).await;
    let newer = filled(&chat, 500).await;
    let OutputFile {
        directory: name,
        file,
    } = output.location();
    store.writer.flush();
    let written = std::time::SystemTime::now() - Duration::from_secs(60);
    let path = base.path().join("state/output").join(&name).join(&file);
    std::fs::File::options()
        .write(true)
        .open(path)
        .unwrap()
        .set_modified(written)
        .unwrap();
    let newer = newer.location().file;
    let never_written = chat.output().location().file;
    drop((chat, output, store));

    let fixture = Fixture {
        store: open(base.path(), limits(1000, 1500, 1500)),
        base,
    };
    let chat = fixture.store.reopen_chat(&name).unwrap();
    assert_eq!(chat.name, name);
    // In any order: their age is on disk.
    let newer = chat.reopen(&newer, None).unwrap();
    let output = chat.reopen(&file, known(500, 500)).unwrap();
    assert_eq!(output.status(), Saved::Complete);
    assert_eq!(newer.status(), Saved::Partial(500));
    assert_eq!(all(&output).await, pattern(500));
    assert_eq!(output.location().file, file);
    let nothing = chat.reopen(&never_written, known(0, 0)).unwrap();
    assert_eq!(nothing.status(), Saved::Complete);
    let unsaved = chat.reopen(&never_written, known(10, 0)).unwrap();
    assert_eq!(unsaved.status(), Saved::Partial(0));
    let failed = Known {
        total: 10,
        saved: 0,
        failure: Some("no space".into()),
    };
    let failed = chat.reopen(&never_written, Some(failed)).unwrap();
    assert_eq!(failed.status(), Saved::Failed("no space".into()));
    for known in [None, known(10, 10)] {
        let lost = chat.reopen(&never_written, known).unwrap();
        assert_eq!(lost.status(), Saved::None);
        assert_eq!(all(&lost).await, b"");
    }
    assert_eq!(fixture.held(), 1000);
    let new = filled(&chat, 600).await;
    assert_eq!(
        (output.status(), new.status()),
        (Saved::None, Saved::Complete)
    );
    newer.remove();
    fixture.store.writer.flush();
    assert_eq!(fixture.held(), 600);
    assert!(!fixture.path(&newer).exists());
}

#[tokio::test]
async fn only_names_of_a_store_are_reopened() {
    let fixture = Fixture::new(SaveLimits::default());
    let chat = fixture.store.chat();
    filled(&chat, 1).await;
    let upper = files::random_name()
        .to_uppercase()
        .replace(char::is_numeric, "A");
    for name in ["", ".", "..", "../../state", "x", upper.as_str()] {
        assert!(fixture.store.reopen_chat(name).is_err(), "{name}");
        assert!(chat.reopen(name, None).is_err(), "{name}");
    }
}

#[tokio::test]
async fn only_directories_that_no_process_names_are_removed() {
    let Fixture { store, base } = Fixture::new(SaveLimits::default());
    let outputs = [
        filled(&store.chat(), 1).await,
        filled(&store.chat(), 1).await,
        filled(&store.chat(), 1).await,
    ];
    let names = outputs.map(|output| output.location().directory);
    drop(store);
    let fixture = Fixture {
        store: open(base.path(), SaveLimits::default()),
        base,
    };
    let directory = fixture.directory();
    std::fs::create_dir(directory.join("somebody's")).unwrap();
    std::fs::write(directory.join("file"), "").unwrap();
    let keep = HashSet::from([names[0].clone(), names[1].clone()]);
    fixture.store.remove_unknown(&keep).unwrap();
    assert!(!directory.join(&names[2]).exists());
    assert_eq!(std::fs::read_dir(&directory).unwrap().count(), 4);
    let reopened = fixture.store.reopen_chat(&names[0]).unwrap();
    reopened.remove().unwrap();
    assert!(!directory.join(&names[0]).exists());
    fixture.store.remove_unknown(&HashSet::new()).unwrap();
    assert!(!directory.join(&names[1]).exists());
}

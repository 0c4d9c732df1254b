//! Stretches, versions, and lines of files of any size.

use std::os::unix::fs::FileExt;

use super::*;

#[test]
fn stretches_of_a_file() {
    let tree = Tree::new();
    tree.make("file", "content");
    let read = |offset, max| {
        let chunk = tree.files.read("file", offset, max).unwrap();
        assert_eq!(chunk.size, 7);
        assert_eq!(chunk.version, tree.version("file"));
        String::from_utf8(chunk.data).unwrap()
    };
    assert_eq!(read(0, 100), "content");
    assert_eq!(read(1, 3), "ont");
    assert_eq!(read(7, 1), "");
    assert_eq!(read(u64::MAX, usize::MAX), "");
    assert_eq!(read(0, 0), "");
    assert_eq!(tree.files.read("missing", 0, 1), Err(Error::NotFound));
}

#[test]
fn versions_change_with_the_content_and_only_with_it() {
    let tree = Tree::new();
    tree.make("file", "one");
    let one = tree.version("file");
    tree.make("file", "two");
    let two = tree.version("file");
    assert_ne!(one, two, "same size, and perhaps the same time");
    tree.make("file", "one");
    assert_eq!(tree.version("file"), one);
    // The version of a large file comes from its metadata.
    let large = fs::File::create(tree.path("large")).unwrap();
    large.set_len(MAX_READ as u64 + 1).unwrap();
    let before = tree.version("large");
    assert_eq!(tree.version("large"), before);
    assert_eq!(tree.files.read("large", 0, 1).unwrap().version, before);
    large.set_len(MAX_READ as u64 + 2).unwrap();
    assert_ne!(tree.version("large"), before);
    large.set_len(MAX_READ as u64).unwrap();
    assert!(tree.version("large").starts_with('c'));
    assert_ne!(tree.version("sub"), tree.version("file"));
}

#[test]
fn facts() {
    let tree = Tree::new();
    tree.make("file", "content");
    tree.link("link", "file");
    let (file, link) = (
        tree.files.metadata("file").unwrap(),
        tree.files.metadata("link").unwrap(),
    );
    assert_eq!(file, link);
    assert_eq!((file.kind, file.size), (Kind::File, 7));
    assert_eq!(file.path, tree.path("file"));
    let modified = fs::metadata(tree.path("file")).unwrap().modified().unwrap();
    assert_eq!(file.modified, modified);
    tree.make("other", "content");
    let other = tree.files.metadata("other").unwrap();
    assert!(other.identity != file.identity && other.version == file.version);
    let sub = tree.files.metadata("sub").unwrap();
    assert_eq!((sub.kind, sub.size), (Kind::Directory, 0));
}

#[test]
fn lines_are_gone_over() {
    let tree = Tree::new();
    tree.make("file", "a\nbb\n\nccc");
    let skip = |offset, lines| {
        let skipped = tree
            .files
            .skip_lines("file", offset, lines, &Work::default())
            .unwrap();
        assert_eq!(skipped.size, 9);
        (skipped.offset, skipped.lines)
    };
    assert_eq!(skip(0, 0), (0, 0));
    assert_eq!(skip(0, 1), (2, 1));
    assert_eq!(skip(0, 3), (6, 3));
    assert_eq!(skip(0, 4), (9, 3));
    assert_eq!(skip(1, 1), (2, 1));
    assert_eq!(skip(3, u64::MAX), (9, 2));
    assert_eq!(skip(100, 1), (9, 0));
    let work = Work::default();
    work.stopped.cancel();
    let stopped = tree.files.skip_lines("file", 0, 1, &work);
    assert!(matches!(stopped, Err(Error::Failed(_))));
}

#[test]
fn lines_are_counted_as_they_are_in_large_files() {
    let tree = Tree::new();
    let text: String = (0..200_000).map(|line| format!("line {line}\n")).collect();
    tree.make("file", &text);
    for lines in [1, 1_000, 30_000, 199_999, 200_000] {
        let skipped = tree
            .files
            .skip_lines("file", 0, lines, &Work::default())
            .unwrap();
        let rest = &text[usize::try_from(skipped.offset).unwrap()..];
        assert_eq!(skipped.lines, lines);
        let next = rest.lines().next().unwrap_or("none");
        let expected = if lines == 200_000 {
            "none".into()
        } else {
            format!("line {lines}")
        };
        assert_eq!(next, expected);
    }
}

/// A log that grows while it is searched has the end that it had: appended lines are not waited for.
#[test]
fn a_sparse_file_that_grows_has_an_end() {
    let tree = Tree::new();
    let file = fs::File::create(tree.path("log")).unwrap();
    file.write_all_at("line\n".repeat(2_000_000).as_bytes(), 1 << 30)
        .unwrap();
    let done = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            use std::io::Write;
            let mut log = fs::OpenOptions::new()
                .append(true)
                .open(tree.path("log"))
                .unwrap();
            while !done.load(std::sync::atomic::Ordering::Relaxed) {
                log.write_all(b"more\n").unwrap();
            }
        });
        for _ in 0..5 {
            let all = tree
                .files
                .skip_lines("log", 0, u64::MAX, &Work::default())
                .unwrap();
            assert_eq!(all.offset, all.size);
            assert!(all.lines >= 2_000_000);
        }
        done.store(true, std::sync::atomic::Ordering::Relaxed);
    });
}

/// Files of the kernel say that they are empty.
#[test]
fn files_that_say_that_they_are_empty() {
    let tree = Tree::with(|config| config.roots.push("/proc/sys/kernel".into()));
    let path = "/proc/sys/kernel/ostype";
    let text = tree.read(path).unwrap();
    assert_eq!(text, "Linux\n");
    let skip = |offset| {
        tree.files
            .skip_lines(path, offset, 9, &Work::default())
            .unwrap()
    };
    assert_eq!((skip(0).offset, skip(0).lines), (6, 1));
    assert_eq!((skip(6).offset, skip(6).lines), (6, 0));
}

/// Five gigabytes of nothing take no time: a hole holds no line.
#[test]
fn holes_are_skipped() {
    const END: u64 = 5 << 30;
    let tree = Tree::new();
    let file = fs::File::create(tree.path("sparse")).unwrap();
    file.write_all_at(b"first\nsecond\n", 0).unwrap();
    file.write_all_at(b"\nlast\n", END).unwrap();
    let skip = |offset, lines| {
        tree.files
            .skip_lines("sparse", offset, lines, &Work::default())
            .unwrap()
    };
    assert_eq!(skip(0, 2).offset, 13);
    assert_eq!(skip(13, 1).offset, END + 1);
    let all = skip(0, u64::MAX);
    assert_eq!((all.lines, all.offset, all.size), (4, END + 6, END + 6));
    let chunk = tree.files.read("sparse", END, 100).unwrap();
    assert_eq!(chunk.data, b"\nlast\n");
    assert_eq!(
        tree.files
            .read("sparse", 1 << 30, usize::MAX)
            .unwrap()
            .data
            .len(),
        MAX_READ
    );
}

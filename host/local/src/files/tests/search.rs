//! Searches, as ripgrep does them.

use std::time::Duration;

use proptest::prelude::*;
use toolhost_needs::needs;
use toolhost_workspace::files::{
    Filter, Found, LetterCase, MAX_RESULTS, Matches, Page, Scope, Text,
};

use super::*;

pub(super) const ALL: Page = Page { skip: 0, max: 1000 };

pub(super) fn scope(path: &str) -> Scope {
    Scope {
        path: path.into(),
        ..Scope::default()
    }
}

pub(super) fn text(pattern: &str) -> Text {
    Text {
        pattern: pattern.into(),
        width: 1000,
        ..Text::default()
    }
}

impl Tree {
    pub(super) fn search_for(&self, text: &Text, page: Page) -> Matches {
        let found = self.files.search(&scope("."), text, page, &Work::default());
        found.unwrap()
    }

    pub(super) fn find(&self, scope: &Scope, filter: &Filter) -> Found {
        let found = self.files.find(scope, filter, ALL, &Work::default());
        found.unwrap()
    }

    /// The paths of regular files.
    pub(super) fn paths(&self, scope: &Scope) -> Vec<String> {
        let filter = Filter {
            kind: Some(Kind::File),
            ..Filter::default()
        };
        let found = self.find(scope, &filter);
        let paths = found.files.iter().map(|file| file.path.to_str().unwrap());
        paths.map(str::to_owned).collect()
    }

    pub(super) fn make_all(&self, files: &[(&str, &str)]) {
        for (name, content) in files {
            fs::create_dir_all(self.path(name).parent().unwrap()).unwrap();
            self.make(name, content);
        }
    }
}

/// The lines of all files, as ripgrep writes them.
pub(super) fn written(matches: &Matches) -> Vec<String> {
    let lines = matches.files.iter().flat_map(|file| {
        file.lines.iter().map(|line| {
            let mark = if line.is_match { ':' } else { '-' };
            format!(
                "{}{mark}{}{mark}{}",
                file.path.display(),
                line.number,
                line.text
            )
        })
    });
    lines.collect()
}

#[test]
fn lines_come_in_order_and_in_pages() {
    let tree = Tree::new();
    tree.make_all(&[
        ("b.txt", "one\ntwo fish\nthree\nfour\nfish five"),
        ("a/x.txt", "no\nfish\r\n"),
        ("c.txt", "nothing"),
    ]);
    let near = Text {
        before: 1,
        after: 1,
        ..text("fish")
    };
    let all = tree.search_for(&near, ALL);
    let expected = [
        "a/x.txt-1-no",
        "a/x.txt:2:fish",
        "b.txt-1-one",
        "b.txt:2:two fish",
        "b.txt-3-three",
        "b.txt-4-four",
        "b.txt:5:fish five",
    ];
    assert_eq!(written(&all), expected);
    assert_eq!(
        (all.total_files, all.total_matches, all.searched, all.more),
        (2, 3, 3, false)
    );
    let matches: Vec<_> = all.files.iter().map(|file| file.matches).collect();
    assert_eq!(matches, [1, 2]);
    let mut paged = Vec::new();
    for skip in 0..3 {
        let page = tree.search_for(&text("fish"), Page { skip, max: 1 });
        assert_eq!((page.more, page.total_matches), (skip < 2, 3));
        paged.extend(written(&page));
    }
    let plain = written(&tree.search_for(&text("fish"), ALL));
    assert_eq!(paged, plain);
    let files = Text {
        files_only: true,
        ..text("fish")
    };
    let page = tree.search_for(&files, Page { skip: 1, max: 1 });
    assert_eq!(page.files[0].path, Path::new("b.txt"));
    assert!(page.files[0].lines.is_empty() && !page.more);
    assert_eq!(page.files[0].matches, 2);
    let none = tree.search_for(&text("fish"), Page { skip: 9, max: 9 });
    assert!(none.files.is_empty() && !none.more);
}

#[test]
fn patterns_are_read_as_they_say() {
    let tree = Tree::new();
    tree.make("f", "Foo(1)\nfoobar\nfoo bar\nstart\nend\n");
    let found = |text: Text| {
        let found = tree.search_for(&text, ALL);
        let lines = found.files.into_iter().flat_map(|file| file.lines);
        lines.map(|line| line.number).collect::<Vec<_>>()
    };
    assert_eq!(found(text("foo")), [2, 3]);
    let any = LetterCase::Any;
    let smart = LetterCase::Smart;
    let with = |pattern: &str, letter_case| Text {
        letter_case,
        ..text(pattern)
    };
    assert_eq!(found(with("foo", any)), [1, 2, 3]);
    assert_eq!(found(with("foo", smart)), [1, 2, 3]);
    assert_eq!(found(with("Foo", smart)), [1]);
    let words = Text {
        words: true,
        ..text("foo")
    };
    assert_eq!(found(words), [3]);
    let literal = Text {
        literal: true,
        ..text("(1)")
    };
    assert_eq!(found(literal), [1]);
    assert_eq!(found(text("bar$")), [2, 3]);
    tree.make("f", "Foo(1)\r\nfoobar\r\nfoo bar\r\nstart\r\nend\r\n");
    assert_eq!(found(text("bar$")), [2, 3]);
    assert_eq!(found(text("^$")), [0; 0]);
    let both = Text {
        multiline: true,
        ..text("(?m)bar$")
    };
    assert_eq!(found(both), [2, 3]);
    tree.make("f", "start\nend\n");
    assert_eq!(found(text("(?s)start.end")), [0; 0]);
    let multiline = Text {
        multiline: true,
        ..text("(?s)start.end")
    };
    assert_eq!(found(multiline), [1, 2]);
}

#[test]
fn encodings_and_binary_files() {
    let tree = Tree::new();
    let utf_16: Vec<u8> = "\u{feff}grün\n"
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    tree.make("utf16", utf_16);
    tree.make("utf8", "grün\n");
    tree.make("latin1", b"gr\xfcn\n");
    tree.make("binary", "\0gr\u{fc}n\n");
    assert_eq!(
        written(&tree.search_for(&text("grün"), ALL)),
        ["utf16:1:grün", "utf8:1:grün"]
    );
    let latin = Text {
        encoding: Some("latin1".into()),
        ..text("grün")
    };
    assert_eq!(
        written(&tree.search_for(&latin, ALL)),
        ["latin1:1:grün", "utf16:1:grün"]
    );
    // A file that is named is searched as text.
    let named = |pattern: &str| {
        let found = tree
            .files
            .search(&scope("binary"), &text(pattern), ALL, &Work::default());
        found.unwrap()
    };
    assert_eq!(written(&named("grün")), ["binary:1:\0grün"]);
    assert_eq!(named("nothing").searched, 1);
    // A file that is left out is not counted.
    assert_eq!(tree.search_for(&text("nothing"), ALL).searched, 3);
    // A match before the first zero byte shows that the file has text.
    let rest = "x\n".repeat(100_000);
    tree.make("log", format!("error 1\n{rest}\0\nerror 2\n"));
    let errors = tree.search_for(&text("error"), ALL);
    assert_eq!(written(&errors), ["log:1:error 1", "log:100003:error 2"]);
    assert_eq!(errors.total_matches, 2);
}

/// A name that is no text can be seen, but not read.
#[test]
fn names_that_are_no_text() {
    use std::os::unix::ffi::OsStrExt;
    let tree = Tree::new();
    tree.make("a", "needle");
    let name = std::ffi::OsStr::from_bytes(b"b\xff");
    fs::write(tree.workspace().join(name), "needle").unwrap();
    let found = tree.search_for(&text("needle"), ALL);
    assert_eq!(written(&found), ["a:1:needle"]);
    assert_eq!((found.total_files, found.unreadable), (1, 1));
    assert_eq!(tree.paths(&scope(".")), ["a", "b\u{fffd}"]);
}

#[test]
fn long_lines_are_cut_around_the_match() {
    let tree = Tree::new();
    let line = format!("{}needle{}", "ä".repeat(5000), "ö".repeat(5000));
    tree.make("long", &line);
    let narrow = Text {
        width: 41,
        ..text("needle")
    };
    let found = tree.search_for(&narrow, ALL);
    let line = &found.files[0].lines[0];
    assert!(line.is_cut && line.text.contains("needle") && line.text.len() <= 41);
    assert!(line.text.chars().all(|c| "äöneedl".contains(c)), "{line:?}");
}

#[test]
fn globs_types_and_depth_select() {
    let tree = Tree::new();
    let names = [
        "a.rs",
        "b.py",
        "sub/c.rs",
        "sub/deep/d.md",
        ".github/e.yml",
        "out/f.rs",
        "sub/keep.log",
        "g.log",
    ];
    tree.make_all(&names.map(|name| (name, "")));
    tree.make_all(&[
        (".gitignore", "out/\n*.log\n!keep.log\n"),
        ("sub/.ignore", "deep\n"),
    ]);
    let of = |change: &dyn Fn(&mut Scope)| {
        let mut scope = scope(".");
        change(&mut scope);
        tree.paths(&scope)
    };
    let texts = |all: &[&str]| {
        all.iter()
            .map(|text| (*text).to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(of(&|_| ()), ["a.rs", "b.py", "sub/c.rs", "sub/keep.log"]);
    assert_eq!(
        of(&|scope| scope.globs = texts(&["*.rs", "!sub/"])),
        ["a.rs"]
    );
    // A glob finds what is ignored or hidden only if it spells out the name.
    for (glob, expected) in [
        ("*.log", &["sub/keep.log"][..]),
        ("*", &["a.rs", "b.py", "sub/c.rs", "sub/keep.log"]),
        ("**/*.yml", &[]),
        ("g.log", &["g.log"]),
        ("out/**", &["out/f.rs"]),
        (".github/*", &[".github/e.yml"]),
        (".g*/**/*.yml", &[".github/e.yml"]),
        (".*", &[".gitignore"]),
        ("sub/deep/*.md", &["sub/deep/d.md"]),
    ] {
        let found = of(&|scope| scope.globs = texts(&[glob]));
        let found: Vec<_> = found.iter().filter(|path| *path != "sub/.ignore").collect();
        assert_eq!(found, expected, "{glob}");
    }
    // A glob that names a directory brings nothing for another glob.
    let both = of(&|scope| scope.globs = texts(&["*.rs", "out/*.py"]));
    assert_eq!(both, ["a.rs", "sub/c.rs"]);
    let of_both = of(&|scope| {
        (scope.globs, scope.types) = (texts(&["*.rs", "*.py"]), texts(&["py"]));
    });
    assert_eq!(of_both, ["b.py"]);
    assert_eq!(
        of(&|scope| scope.types = texts(&["rust", "py"])),
        ["a.rs", "b.py", "sub/c.rs"]
    );
    assert_eq!(of(&|scope| scope.max_depth = Some(1)), ["a.rs", "b.py"]);
    assert_eq!(
        of(&|scope| scope.path = "sub".into()),
        ["sub/c.rs", "sub/keep.log"]
    );
    assert_eq!(of(&|scope| scope.path = "g.log".into()), ["g.log"]);
    let all = of(&|scope| (scope.ignored, scope.hidden) = (true, true));
    assert_eq!(all.len(), names.len() + 2);
}

/// A directory is entered whatever its name is, but only one that a glob names is found.
#[test]
fn directories_are_found_by_globs() {
    let tree = Tree::new();
    tree.make_all(&[("a/test/b.rs", ""), ("c/d.rs", ""), ("test.rs", "")]);
    let found = |glob: &str, types: &[&str], kind: Option<Kind>| {
        let scope = Scope {
            globs: vec![glob.to_owned()],
            types: types.iter().map(|name| (*name).to_owned()).collect(),
            ..scope(".")
        };
        let filter = Filter {
            kind,
            ..Filter::default()
        };
        let found = tree.find(&scope, &filter);
        let paths = found
            .files
            .iter()
            .map(|file| file.path.display().to_string());
        paths.collect::<Vec<_>>()
    };
    assert_eq!(found("test", &[], Some(Kind::Directory)), ["a/test"]);
    assert_eq!(found("test*", &[], None), ["a/test", "test.rs"]);
    assert_eq!(found("*.rs", &[], Some(Kind::Directory)), [""; 0]);
    assert_eq!(
        found("!c", &[], Some(Kind::Directory)),
        ["a", "a/test", "sub"]
    );
    assert_eq!(found("!c", &["rust"], None), ["a/test/b.rs", "test.rs"]);
}

#[test]
fn files_are_found_by_their_facts() {
    let tree = Tree::new();
    tree.make_all(&[("small", "1"), ("sub/large", "12345"), ("old", "123")]);
    let old = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000);
    let file = fs::File::options().write(true).open(tree.path("old"));
    file.unwrap().set_modified(old).unwrap();
    let found = |filter: Filter| {
        let found = tree.find(&scope("."), &filter);
        let paths = found
            .files
            .iter()
            .map(|file| file.path.display().to_string());
        paths.collect::<Vec<_>>()
    };
    assert_eq!(
        found(Filter::default()),
        ["old", "small", "sub", "sub/large"]
    );
    let directories = Filter {
        kind: Some(Kind::Directory),
        ..Filter::default()
    };
    assert_eq!(found(directories), ["sub"]);
    let sizes = Filter {
        min_size: Some(2),
        max_size: Some(4),
        ..Filter::default()
    };
    assert_eq!(found(sizes), ["old"]);
    let until = Filter {
        until: Some(old + Duration::from_secs(1)),
        ..Filter::default()
    };
    assert_eq!(found(until), ["old"]);
    let since = Filter {
        since: Some(old + Duration::from_secs(1)),
        kind: Some(Kind::File),
        ..Filter::default()
    };
    assert_eq!(found(since), ["small", "sub/large"]);
    let newest = Filter {
        newest_first: true,
        ..Filter::default()
    };
    assert_eq!(found(newest).last().unwrap(), "old");
}

#[test]
fn what_cannot_be_searched_for_is_said() {
    let tree = Tree::new();
    let search = |scope: Scope, text: Text, page: Page| {
        let found = tree.files.search(&scope, &text, page, &Work::default());
        found.unwrap_err().to_string()
    };
    let here = || scope(".");
    for pattern in ["", "(", "a\nb"] {
        let error = tree
            .files
            .search(&here(), &text(pattern), ALL, &Work::default());
        assert!(
            matches!(error, Err(Error::Invalid(_))),
            "{pattern:?}: {error:?}"
        );
    }
    let typed = Scope {
        types: vec!["rs".into()],
        ..here()
    };
    assert!(search(typed, text("x"), ALL).contains("\"rs\""));
    let globbed = Scope {
        globs: vec!["a{".into()],
        ..here()
    };
    assert!(search(globbed, text("x"), ALL).contains("a{"));
    let encoded = Text {
        encoding: Some("klingon".into()),
        ..text("x")
    };
    assert!(search(here(), encoded, ALL).contains("klingon"));
    let deep = Page {
        skip: MAX_RESULTS,
        max: 1,
    };
    assert!(search(here(), text("x"), deep).contains("100000"));
    // A pattern that is compiled to more than it may be.
    let error = search(here(), text(r"(?:\w{100}){1000}"), ALL);
    assert!(error.contains("limit"), "{error}");
}

/// Lines of ignore files, and names that they fit.
const LINES: [&str; 9] = [
    "a", "!a", "/b", "b/", "*.c", "!d.c", "a/d.c", "**/b/*", "#x",
];
const NAMES: [&str; 5] = ["a", "b", "d.c", "e", ".f"];

fn is_directory(name: &str) -> bool {
    matches!(name, "a" | "b")
}

/// The files that ripgrep lists.
#[expect(clippy::disallowed_methods, reason = "no process of a chat")]
fn ripgrep(directory: &Path, hidden: bool) -> Vec<String> {
    let mut rg = std::process::Command::new("rg");
    rg.args([
        "--no-config",
        "--no-require-git",
        "--no-ignore-global",
        "--no-ignore-parent",
        "--files",
    ]);
    if hidden {
        rg.arg("--hidden");
    }
    let listed = rg.current_dir(directory).output().unwrap();
    let listed = String::from_utf8(listed.stdout).unwrap();
    let mut files: Vec<_> = listed.lines().map(str::to_owned).collect();
    files.sort();
    files
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[needs(program = "rg")]
    #[test]
    fn the_files_are_those_of_ripgrep(
        files in prop::collection::vec(prop::collection::vec(0..NAMES.len(), 1..4), 1..20),
        ignores in prop::collection::vec((0..3usize, 0..4usize, prop::collection::vec(0..LINES.len(), 1..4)), 0..5),
        hidden: bool,
    ) {
        let tree = Tree::new();
        for parts in files {
            let (last, above) = parts.split_last().unwrap();
            let directory = above.iter().map(|part| NAMES[*part]).filter(|name| is_directory(name));
            let directory = tree.workspace().join(directory.collect::<PathBuf>());
            fs::create_dir_all(&directory).unwrap();
            match NAMES[*last] {
                name if is_directory(name) => fs::create_dir_all(directory.join(name)).unwrap(),
                name => fs::write(directory.join(name), "").unwrap(),
            }
        }
        for (kind, place, lines) in ignores {
            let directory = tree.workspace().join(["", "a", "b", "a/b"][place]);
            if directory.is_dir() {
                let name = [".gitignore", ".ignore", ".rgignore"][kind];
                let lines: Vec<_> = lines.iter().map(|line| LINES[*line]).collect();
                fs::write(directory.join(name), lines.join("\n")).unwrap();
            }
        }
        let expected = ripgrep(tree.workspace(), hidden);
        let found = tree.paths(&Scope { hidden, ..scope(".") });
        prop_assert_eq!(found, expected);
    }
}

//! The links between documents, and the files that they name.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use super::{collect, root};

/// Returns all pages, by their paths.
fn pages() -> BTreeMap<PathBuf, String> {
    let mut found = Vec::new();
    collect(&root(), "md", &mut found);
    let found = found.into_iter();
    found
        .map(|page| (root().join(page.path), page.text))
        .collect()
}

/// The lines of a page outside of its blocks of code.
fn prose(page: &str) -> impl Iterator<Item = &str> {
    let mut is_code = false;
    page.lines().filter(move |line| {
        let is_fence = line.trim_start().starts_with("```");
        is_code ^= is_fence;
        !is_code && !is_fence
    })
}

/// The names by which links lead to the headings of a page, as GitHub makes them.
fn headings(page: &str) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for heading in prose(page).filter(|line| line.starts_with('#')) {
        let heading = heading.trim_start_matches('#').trim().to_lowercase();
        // Of a link, its text counts.
        let texts = heading
            .split("](")
            .enumerate()
            .map(|(index, part)| match index {
                0 => part,
                _ => part.split_once(')').map_or("", |(_, rest)| rest),
            });
        let text = texts.collect::<String>();
        let kept = text
            .chars()
            .filter(|c| c.is_alphanumeric() || "-_ ".contains(*c));
        let name: String = kept.map(|c| if c == ' ' { '-' } else { c }).collect();
        let mut numbered = (1..).map(|number| format!("{name}-{number}"));
        if !names.insert(name.clone()) {
            names.extend(numbered.find(|name| !names.contains(name)));
        }
    }
    names
}

#[test]
fn links_between_documents_lead_somewhere() {
    let all = pages();
    let mut wrong = Vec::new();
    let mut links = 0;
    for (page, text) in &all {
        let lines: Vec<_> = prose(text).collect();
        for link in lines.join("\n").split("](").skip(1) {
            let target = link.split([')', ' ']).next().unwrap();
            if target.contains(':') {
                continue;
            }
            links += 1;
            let (file, heading) = target.split_once('#').unwrap_or((target, ""));
            let path = match file {
                "" => page.clone(),
                file => page.parent().unwrap().join(file),
            };
            let Ok(path) = path.canonicalize() else {
                wrong.push(format!("{}: there is no {file}", page.display()));
                continue;
            };
            let lacks = |text: &String| !headings(text).contains(heading);
            if !heading.is_empty() && all.get(&path).is_some_and(lacks) {
                wrong.push(format!("{}: {file} has no #{heading}", page.display()));
            }
        }
    }
    assert!(links > 100, "{links}");
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// The files that documents name are there.
#[test]
fn files_that_documents_name_exist() {
    let all = pages();
    let mut wrong = Vec::new();
    for (page, text) in &all {
        for line in prose(text) {
            for name in line.split('`').skip(1).step_by(2) {
                let folders = [
                    "host/",
                    "guest-tools/",
                    "tests/",
                    "docs/",
                    "examples/",
                    "wit/",
                ];
                let is_path = folders.iter().any(|folder| name.starts_with(folder))
                    && !name.contains("NAME")
                    && name
                        .chars()
                        .all(|c| c.is_alphanumeric() || "-_./".contains(c));
                let named = name.trim_end_matches('/');
                let is_there = [named.to_owned(), format!("{named}.rs")]
                    .iter()
                    .any(|path| root().join(path).exists());
                if is_path && !is_there {
                    wrong.push(format!("{}: there is no {name}", page.display()));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

//! The links between documents, and the files that they name.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::root;

/// Adds the pages below a folder.
fn pages(folder: &Path, found: &mut BTreeMap<PathBuf, String>) {
    for entry in folder.read_dir().unwrap().flatten() {
        let path = entry.path();
        let name = entry.file_name();
        if path.is_dir()
            && !["target", "node_modules", ".git"]
                .iter()
                .any(|no| name == *no)
        {
            pages(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "md") {
            found.insert(path.clone(), std::fs::read_to_string(&path).unwrap());
        }
    }
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
    let mut all = BTreeMap::new();
    pages(&root(), &mut all);
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
            let known = all.get(&path).map(|text| headings(text));
            if !heading.is_empty() && known.is_some_and(|known| !known.contains(heading)) {
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
    let mut all = BTreeMap::new();
    pages(&root(), &mut all);
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

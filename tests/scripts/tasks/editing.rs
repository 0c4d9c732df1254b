//! Tasks that change files.

use futures_util::FutureExt as _;
use serde_json::{Value, json};

use super::{Task, with_read, without_numbers};

pub(super) fn tasks() -> Vec<Task> {
    vec![versions(), rename(), letters(), titles(), headers()]
}

/// One edit of a file, for `edit_files`.
fn edit(path: &str, old: &str, new: &str) -> Value {
    let edit = json!({ "old_text": old, "new_text": new, "replace_all": true });
    json!({ "path": path, "edits": [edit] })
}

fn versions() -> Task {
    Task {
        name: "raise the version of eight packages",
        files: || {
            let manifest = |number: usize| {
                let dependencies = (0..15).map(|other| format!("library-{other} = \"{other}\"\n"));
                let dependencies: String = dependencies.collect();
                let text = format!(
                    "[package]\nname = \"package-{number}\"\nversion = \"1.{number}.4\"\n\n[dependencies]\n{dependencies}"
                );
                (format!("packages/{number}.toml"), text)
            };
            (0..8).map(manifest).collect()
        },
        direct: |model| {
            async move {
                let (mut edits, mut raised) = (Vec::new(), Vec::new());
                for name in model.entries("packages").await {
                    let path = format!("packages/{name}");
                    let text = model.read(&path).await;
                    let old = text.lines().nth(2).unwrap();
                    let parts: Vec<_> = old.split(['"', '.']).collect();
                    let next = format!("1.{}.0", parts[2].parse::<u64>().unwrap() + 1);
                    edits.push(edit(&path, old, &format!("version = \"{next}\"")));
                    raised.push(next);
                }
                model.call("edit_files", json!({ "files": edits })).await;
                json!(raised)
            }
            .boxed()
        },
        script: with_read!(
            "const { entries } = await tools.read_file({ path: 'packages' });
            const raised = [];
            const files = await Promise.all(entries.map(async (name, at) => {
                const [old_text, minor] = (await read(`packages/${name}`)).match(/version = \"1\\.(\\d+)\\.\\d+\"/);
                raised[at] = `1.${Number(minor) + 1}.0`;
                return { path: `packages/${name}`, edits: [{ old_text, new_text: `version = \"${raised[at]}\"` }] };
            }));
            await tools.edit_files({ files });
            return raised;"
        ),
    }
}

fn rename() -> Task {
    Task {
        name: "rename a function in ten files",
        files: || {
            let source = |number: usize| {
                let uses = match number % 2 {
                    0 => "    old_name(1);\n    old_name(2);\n",
                    _ => "    other(1);\n",
                };
                let lines = "    // A line that nothing changes.\n".repeat(10);
                let text = format!("fn part_{number}() {{\n{lines}{uses}{lines}}}\n");
                (format!("src/{number:02}.rs"), text)
            };
            (0..20).map(source).collect()
        },
        direct: |model| {
            async move {
                let found = model.run("grep -lr old_name src | sort").await;
                let paths: Vec<_> = found["output"].as_str().unwrap().lines().collect();
                let edits = paths.iter().map(|path| edit(path, "old_name", "new_name"));
                let edits: Vec<_> = edits.collect();
                model.call("edit_files", json!({ "files": edits })).await;
                json!(paths.len())
            }
            .boxed()
        },
        script: "const { output } = await tools.execute({ command: 'grep -lr old_name src' });
            const edits = [{ old_text: 'old_name', new_text: 'new_name', replace_all: true }];
            const files = output.trim().split('\\n').map((path) => ({ path, edits }));
            await tools.edit_files({ files });
            return files.length;",
    }
}

fn letters() -> Task {
    Task {
        name: "write twelve letters from a table",
        files: || {
            let row = |number: usize| format!("person-{number},{}\n", number * 12);
            let table: String = (0..12).map(row).collect();
            let text = "Dear {name},\n\nyour balance is {sum} euros. This letter was written by a program and is valid without a signature.\n";
            vec![
                ("people.csv".to_owned(), table),
                ("letter.txt".to_owned(), text.to_owned()),
            ]
        },
        direct: |model| {
            async move {
                let table = model.read("people.csv").await;
                let letter = model.read("letter.txt").await;
                for row in table.lines() {
                    let (name, sum) = row.split_once(',').unwrap();
                    let content = letter.replace("{name}", name).replace("{sum}", sum);
                    let path = format!("letters/{name}.txt");
                    let arguments = json!({ "path": path, "content": content });
                    model.call("write_file", arguments).await;
                }
                json!(table.lines().count())
            }
            .boxed()
        },
        script: with_read!(
            "const [table, letter] = await Promise.all(['people.csv', 'letter.txt'].map(read));
            const rows = table.trim().split('\\n').map((row) => row.split(','));
            await Promise.all(rows.map(([name, sum]) => tools.write_file({
                path: `letters/${name}.txt`, content: letter.replace('{name}', name).replace('{sum}', sum),
            })));
            return rows.length;"
        ),
    }
}

fn titles() -> Task {
    Task {
        name: "name ten notes by their titles",
        files: || {
            let note = |number: usize| {
                let text = "And more words of this note.\n".repeat(12);
                let text = format!("# Note about {number}\n\n{text}");
                (format!("notes/{}.md", (number * 7) % 10), text)
            };
            (0..10).map(note).collect()
        },
        direct: |model| {
            async move {
                let mut moves = Vec::new();
                for name in model.entries("notes").await {
                    let path = format!("notes/{name}");
                    let page = json!({ "path": path, "limit": 1 });
                    let page = model.call("read_file", page).await;
                    let title = without_numbers(&page).to_lowercase();
                    let title = title.trim().trim_start_matches("# ").replace(' ', "-");
                    moves.push(format!("mv {path} notes/{title}.md"));
                }
                model.run(&moves.join(" && ")).await;
                json!(model.entries("notes").await)
            }
            .boxed()
        },
        script: "const { entries } = await tools.read_file({ path: 'notes' });
            const moves = await Promise.all(entries.map(async (name) => {
                const { content } = await tools.read_file({ path: `notes/${name}`, limit: 1 });
                const title = content.split('# ')[1].trim().toLowerCase().replaceAll(' ', '-');
                return `mv notes/${name} notes/${title}.md`;
            }));
            await tools.execute({ command: moves.join(' && ') });
            return (await tools.read_file({ path: 'notes' })).entries;",
    }
}

fn headers() -> Task {
    Task {
        name: "change the header of ten files, and check them",
        files: || {
            let file = |number: usize| {
                let year = 2020 + number % 3;
                let lines = "A line of the text.\n".repeat(10);
                let text = format!("Copyright {year} the authors\n{lines}");
                (format!("texts/{number}.txt"), text)
            };
            (0..10).map(file).collect()
        },
        direct: |model| {
            async move {
                let names = model.entries("texts").await;
                let mut edits = Vec::new();
                for name in &names {
                    let path = format!("texts/{name}");
                    let text = model.read(&path).await;
                    let old = text.lines().next().unwrap();
                    edits.push(edit(&path, old, "Copyright 2026 the authors"));
                }
                model.call("edit_files", json!({ "files": edits })).await;
                let mut right = 0;
                for name in &names {
                    let page = json!({ "path": format!("texts/{name}"), "limit": 1 });
                    let page = model.call("read_file", page).await;
                    right += usize::from(without_numbers(&page).contains("2026"));
                }
                json!(right)
            }
            .boxed()
        },
        script: with_read!(
            "const { entries } = await tools.read_file({ path: 'texts' });
            const paths = entries.map((name) => `texts/${name}`);
            const files = await Promise.all(paths.map(async (path) => {
                const [old_text] = (await read(path)).split('\\n');
                return { path, edits: [{ old_text, new_text: 'Copyright 2026 the authors' }] };
            }));
            await tools.edit_files({ files });
            const texts = await Promise.all(paths.map(read));
            return texts.filter((text) => text.startsWith('Copyright 2026 ')).length;"
        ),
    }
}

//! Tasks that run commands, follow processes, and use two plugins.

use std::collections::BTreeMap;

use futures_util::FutureExt as _;
use serde_json::{Value, json};

use super::{Task, with_read, without_numbers};

pub(super) fn tasks() -> Vec<Task> {
    vec![
        failures(),
        build(),
        installer(),
        bisect(),
        flaky(),
        servers(),
        last_errors(),
        words(),
    ]
}

/// The text of an output.
fn output(reply: &Value) -> &str {
    reply["output"].as_str().unwrap_or_default()
}

fn failures() -> Task {
    Task {
        name: "run the tests, and show the line of each failure",
        files: || {
            let source = |number: usize| {
                let lines = (1..=40).map(|line| format!("assert value_{number}_{line}\n"));
                (format!("src/{number}.txt"), lines.collect())
            };
            let mut files: Vec<_> = (0..6).map(source).collect();
            let test = |number: usize| match number % 50 {
                17 => format!(
                    "not ok {number} test {number} (src/{}.txt:{})\n",
                    number % 6,
                    number % 40
                ),
                _ => format!("ok {number} test {number} did all that it had to do\n"),
            };
            let report: String = (1..=300).map(test).collect();
            files.push(("report".to_owned(), report));
            files
        },
        direct: |model| {
            async move {
                let report = model.run("cat report; exit 1").await;
                let mut lines = BTreeMap::new();
                for line in output(&report).lines() {
                    let Some(failure) = line.strip_prefix("not ok ") else {
                        continue;
                    };
                    let number = failure.split(' ').next().unwrap();
                    let place = failure.split(['(', ':', ')']).collect::<Vec<_>>();
                    let offset: u64 = place[2].parse().unwrap();
                    let page = json!({ "path": place[1], "offset": offset, "limit": 1 });
                    let page = model.call("read_file", page).await;
                    let source = without_numbers(&page).trim().to_owned();
                    lines.insert(number.to_owned(), source);
                }
                json!(lines)
            }
            .boxed()
        },
        script: "const { output } = await tools.execute({ command: 'cat report; exit 1' });
            const lines = {};
            const failures = [...output.matchAll(/^not ok (\\d+) .*\\((.*):(\\d+)\\)$/gm)];
            await Promise.all(failures.map(async ([, number, path, line]) => {
                const { content } = await tools.read_file({ path, offset: Number(line), limit: 1 });
                lines[number] = content.trim();
            }));
            return lines;",
    }
}

fn build() -> Task {
    Task {
        name: "poll a build in the background until it ends",
        files: || {
            let text = "for step in 1 2 3 4 5 6; do
                echo \"[$step/6] compiling the part number $step of this program with all of its warnings\"
                sleep 0.05
            done
            echo \"built $(ls | wc -l) files\"";
            vec![("build.sh".to_owned(), text.to_owned())]
        },
        direct: |model| {
            async move {
                let start = json!({ "command": "sh build.sh", "run_in_background": true });
                let started = model.call("execute", start).await;
                let process = started["background_process_id"].clone();
                loop {
                    let ask = json!({ "process_id": process, "wait_timeout": "50ms" });
                    let reply = model.call("process_output", ask).await;
                    if reply["running"] == false {
                        return json!(output(&reply).lines().last());
                    }
                }
            }
            .boxed()
        },
        script: "const { background_process_id: process_id } = await tools.execute({ command: 'sh build.sh', run_in_background: true });
            for (;;) {
                const { running, output } = await tools.process_output({ process_id, wait_timeout: '50ms' });
                if (!running) return output.trim().split('\\n').at(-1);
            }",
    }
}

fn installer() -> Task {
    Task {
        name: "answer the five questions of an installer",
        files: || {
            let text = "for question in 1 2 3 4 5; do
                echo \"question $question: which value does the setting number $question have?\"
                until [ -s answer-$question ]; do sleep 0.01; done
                cat answer-$question
            done";
            vec![("install.sh".to_owned(), text.to_owned())]
        },
        direct: |model| {
            async move {
                let start = json!({ "command": "sh install.sh", "run_in_background": true });
                let started = model.call("execute", start).await;
                let process = started["background_process_id"].clone();
                for question in 1..=5 {
                    let until = format!("question {question}");
                    let ask = json!({ "process_id": process, "until": until, "wait_timeout": "1h" });
                    model.call("process_output", ask).await;
                    let answer = json!({ "path": format!("answer-{question}"), "content": format!("value {question}\n") });
                    model.call("write_file", answer).await;
                }
                let ask = json!({ "process_id": process, "wait_timeout": "1h" });
                let reply = model.call("process_output", ask).await;
                json!([reply["exit_code"], output(&reply).lines().count()])
            }
            .boxed()
        },
        script: "const { background_process_id: process_id } = await tools.execute({ command: 'sh install.sh', run_in_background: true });
            for (let question = 1; question <= 5; question++) {
                await tools.process_output({ process_id, until: `question ${question}`, wait_timeout: '1h' });
                await tools.write_file({ path: `answer-${question}`, content: `value ${question}\\n` });
            }
            const { exit_code, output } = await tools.process_output({ process_id, wait_timeout: '1h' });
            return [exit_code, output.trim().split('\\n').length];",
    }
}

fn bisect() -> Task {
    Task {
        name: "find the first of 64 versions that fails",
        files: || {
            let text = "seq 1 20 | sed \"s/^/version $1: check /\"\ntest \"$1\" -lt 41";
            vec![("check.sh".to_owned(), text.to_owned())]
        },
        direct: |model| {
            async move {
                let (mut good, mut bad) = (0, 64);
                while bad - good > 1 {
                    let middle = (good + bad) / 2;
                    let reply = model.run(&format!("sh check.sh {middle}")).await;
                    match reply["exit_code"] == 0 {
                        true => good = middle,
                        false => bad = middle,
                    }
                }
                json!(bad)
            }
            .boxed()
        },
        script: "let [good, bad] = [0, 64];
            while (bad - good > 1) {
                const middle = (good + bad) / 2 | 0;
                const { success } = await tools.execute({ command: `sh check.sh ${middle}` });
                if (success) good = middle; else bad = middle;
            }
            return bad;",
    }
}

fn flaky() -> Task {
    Task {
        name: "repeat a command until it succeeds",
        files: || {
            let text = "echo x >> tries\nseq 1 30 | sed 's/^/connecting to the service, attempt /'\ntest $(wc -l < tries) -ge 5";
            vec![("connect.sh".to_owned(), text.to_owned())]
        },
        direct: |model| {
            async move {
                let mut tries = 1;
                while model.run("sh connect.sh").await["success"] == false {
                    tries += 1;
                }
                json!(tries)
            }
            .boxed()
        },
        script: "let tries = 1;
            while (!(await tools.execute({ command: 'sh connect.sh' })).success) tries++;
            return tries;",
    }
}

fn servers() -> Task {
    Task {
        name: "start four servers, and end the two old ones",
        files: Vec::new,
        direct: |model| {
            async move {
                for name in ["old-1", "old-2", "new-1", "new-2"] {
                    let command = format!("exec sleep 1000 # {name}");
                    let start = json!({ "command": command, "run_in_background": true });
                    model.call("execute", start).await;
                }
                let listed = model.call("process_list", json!({})).await;
                for process in listed["processes"].as_array().unwrap() {
                    if process["command"].as_str().unwrap().contains("# old") {
                        let signal = json!({ "process_id": process["id"], "signal": "kill" });
                        model.call("process_signal", signal).await;
                        let ended = json!({ "process_id": process["id"], "wait_timeout": "1h" });
                        model.call("process_output", ended).await;
                    }
                }
                let listed = model.call("process_list", json!({})).await;
                let processes = listed["processes"].as_array().unwrap().iter();
                let mut running: Vec<_> = processes
                    .filter(|process| process["running"] == true)
                    .map(|process| process["command"].clone())
                    .collect();
                running.sort_by_key(ToString::to_string);
                // The next task begins without them.
                for process in listed["processes"].as_array().unwrap() {
                    let signal = json!({ "process_id": process["id"], "signal": "kill" });
                    model.call("process_signal", signal).await;
                }
                json!(running)
            }
            .boxed()
        },
        script: "await Promise.all(['old-1', 'old-2', 'new-1', 'new-2'].map((name) =>
                tools.execute({ command: `exec sleep 1000 # ${name}`, run_in_background: true })));
            const { processes } = await tools.process_list();
            await Promise.all(processes.filter(({ command }) => command.includes('# old')).map(async ({ id: process_id }) => {
                await tools.process_signal({ process_id, signal: 'kill' });
                await tools.process_output({ process_id, wait_timeout: '1h' });
            }));
            const left = (await tools.process_list()).processes;
            await Promise.all(left.map(({ id }) => tools.process_signal({ process_id: id, signal: 'kill' })));
            return left.filter(({ running }) => running).map(({ command }) => command).sort();",
    }
}

fn last_errors() -> Task {
    Task {
        name: "find the last error in the tails of six logs",
        files: || {
            let log = |service: usize| {
                let line = |number: usize| match number % (11 + service) {
                    0 => format!("{number} ERROR request {number} of service {service} failed\n"),
                    _ => format!(
                        "{number} INFO request {number} of service {service} was served in time\n"
                    ),
                };
                (format!("logs/{service}.log"), (1..=900).map(line).collect())
            };
            (0..6).map(log).collect()
        },
        direct: |model| {
            async move {
                let mut errors = BTreeMap::new();
                for name in model.entries("logs").await {
                    let path = format!("logs/{name}");
                    let first = json!({ "path": path, "limit": 1 });
                    let first = model.call("read_file", first).await;
                    let offset = first["total_lines"].as_u64().unwrap() - 39;
                    let tail = json!({ "path": path, "offset": offset });
                    let tail = model.call("read_file", tail).await;
                    let tail = without_numbers(&tail);
                    let mut lines = tail.lines().rev();
                    let last = lines.find(|line| line.contains("ERROR"));
                    errors.insert(name, last.map(str::to_owned));
                }
                json!(errors)
            }
            .boxed()
        },
        script: "const { entries } = await tools.read_file({ path: 'logs' });
            const errors = {};
            await Promise.all(entries.map(async (name) => {
                const path = `logs/${name}`;
                const { total_lines } = await tools.read_file({ path, limit: 1 });
                const { content } = await tools.read_file({ path, offset: total_lines - 39 });
                const lines = content.split('\\n').filter((line) => line.includes('ERROR'));
                errors[name] = lines.at(-1);
            }));
            return errors;",
    }
}

fn words() -> Task {
    Task {
        name: "count the words of eight chapters with another plugin",
        files: || {
            let chapter = |number: usize| {
                let text = "Words that a chapter of a book could have. ".repeat(10 + number);
                (format!("book/{number}.txt"), format!("{text}\n"))
            };
            (1..=8).map(chapter).collect()
        },
        direct: |model| {
            async move {
                let mut counts = BTreeMap::new();
                for name in model.entries("book").await {
                    let text = model.read(&format!("book/{name}")).await;
                    let counted = model.call("word_count", json!({ "text": text })).await;
                    counts.insert(name, counted["words"].clone());
                }
                json!(counts)
            }
            .boxed()
        },
        script: with_read!(
            "const { entries } = await tools.read_file({ path: 'book' });
            const counts = await Promise.all(entries.map(async (name) => {
                const { words } = await tools.word_count({ text: await read(`book/${name}`) });
                return [name, words];
            }));
            return Object.fromEntries(counts);"
        ),
    }
}

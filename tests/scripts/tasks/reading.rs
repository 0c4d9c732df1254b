//! Tasks that read many files and answer with little.

use std::collections::{BTreeMap, BTreeSet};

use futures_util::FutureExt as _;
use serde_json::{Value, json};

use super::{Task, with_read};

pub(super) fn tasks() -> Vec<Task> {
    vec![
        invoices(),
        slow_requests(),
        sales(),
        configurations(),
        links(),
        duplicates(),
        invalid_json(),
    ]
}

fn invoices() -> Task {
    Task {
        name: "sum 20 invoices for each customer",
        files: || {
            let invoice = |number: u64| {
                let lines = (0..10).map(
                    |line| json!({ "text": format!("Position {line}"), "cents": number * 100 + line }),
                );
                let invoice = json!({
                    "number": number, "customer": format!("customer-{}", number % 4), "lines": lines.collect::<Vec<_>>(),
                });
                let text = serde_json::to_string_pretty(&invoice).unwrap();
                (format!("invoices/{number:02}.json"), text)
            };
            (0..20).map(invoice).collect()
        },
        direct: |model| {
            async move {
                let mut totals = BTreeMap::<String, u64>::new();
                for name in model.entries("invoices").await {
                    let text = model.read(&format!("invoices/{name}")).await;
                    let invoice: Value = serde_json::from_str(&text).unwrap();
                    let customer = invoice["customer"].as_str().unwrap().to_owned();
                    let lines = invoice["lines"].as_array().unwrap().iter();
                    let sum: u64 = lines.map(|line| line["cents"].as_u64().unwrap()).sum();
                    *totals.entry(customer).or_default() += sum;
                }
                json!(totals)
            }
            .boxed()
        },
        script: with_read!(
            "const { entries } = await tools.read_file({ path: 'invoices' });
            const invoices = await Promise.all(entries.map(async (name) => JSON.parse(await read(`invoices/${name}`))));
            const totals = {};
            for (const { customer, lines } of invoices) {
                for (const { cents } of lines) totals[customer] = (totals[customer] ?? 0) + cents;
            }
            return totals;"
        ),
    }
}

fn slow_requests() -> Task {
    Task {
        name: "find the three slowest requests of five logs",
        files: || {
            let log = |server: u64| {
                let line = |number: u64| {
                    let time = (number * 5 + server) * 7919 % 9973;
                    format!("2026-11-25 GET /items/{server}-{number} 200 {time}ms\n")
                };
                let lines: String = (0..150).map(line).collect();
                (format!("logs/web-{server}.log"), lines)
            };
            (0..5).map(log).collect()
        },
        direct: |model| {
            async move {
                let mut requests = Vec::new();
                for name in model.entries("logs").await {
                    let log = model.read(&format!("logs/{name}")).await;
                    for line in log.lines() {
                        let words: Vec<_> = line.split(' ').collect();
                        let time: u64 = words[4].trim_end_matches("ms").parse().unwrap();
                        requests.push((time, words[2].to_owned()));
                    }
                }
                requests.sort_by(|one, other| other.cmp(one));
                json!(requests[..3])
            }
            .boxed()
        },
        script: with_read!(
            "const { entries } = await tools.read_file({ path: 'logs' });
            const logs = await Promise.all(entries.map((name) => read(`logs/${name}`)));
            const requests = logs.join('').trim().split('\\n').map((line) => {
                const words = line.split(' ');
                return [parseInt(words[4]), words[2]];
            });
            return requests.sort(([one], [other]) => other - one).slice(0, 3);"
        ),
    }
}

fn sales() -> Task {
    Task {
        name: "add up the sales of twelve months",
        files: || {
            let month = |month: u64| {
                let row = |product: u64| {
                    format!("product-{product},{},{}\n", product % 3, month * product)
                };
                let rows: String = (1..=30).map(row).collect();
                (format!("sales/{month:02}.csv"), rows)
            };
            (1..=12).map(month).collect()
        },
        direct: |model| {
            async move {
                let mut sums = BTreeMap::<String, u64>::new();
                for name in model.entries("sales").await {
                    let table = model.read(&format!("sales/{name}")).await;
                    for row in table.lines() {
                        let cells: Vec<_> = row.split(',').collect();
                        let region = format!("region-{}", cells[1]);
                        *sums.entry(region).or_default() += cells[2].parse::<u64>().unwrap();
                    }
                }
                json!(sums)
            }
            .boxed()
        },
        script: with_read!(
            "const { entries } = await tools.read_file({ path: 'sales' });
            const sums = {};
            for (const table of await Promise.all(entries.map((name) => read(`sales/${name}`)))) {
                for (const row of table.trim().split('\\n')) {
                    const [, region, sold] = row.split(',');
                    const key = `region-${region}`;
                    sums[key] = (sums[key] ?? 0) + Number(sold);
                }
            }
            return sums;"
        ),
    }
}

fn configurations() -> Task {
    Task {
        name: "compare two configurations",
        files: || {
            let configuration = |changed: u64| {
                let entry = |key: u64| {
                    let value = if key % 17 == changed { key + 1 } else { key };
                    (format!("section.{}.key-{key}", key % 5), value)
                };
                let all: BTreeMap<_, _> = (0..80).map(entry).collect();
                serde_json::to_string_pretty(&all).unwrap()
            };
            vec![
                ("staging.json".to_owned(), configuration(99)),
                ("production.json".to_owned(), configuration(3)),
            ]
        },
        direct: |model| {
            async move {
                let one = model.read("staging.json").await;
                let other = model.read("production.json").await;
                let map = |text: &str| {
                    serde_json::from_str::<BTreeMap<String, Value>>(text).unwrap()
                };
                let (one, other) = (map(&one), map(&other));
                let differ = one.iter().filter(|(key, value)| other.get(*key) != Some(*value));
                json!(differ.map(|(key, _)| key).collect::<Vec<_>>())
            }
            .boxed()
        },
        script: with_read!(
            "const [one, other] = await Promise.all(['staging', 'production'].map(async (name) => JSON.parse(await read(`${name}.json`))));
            return Object.keys(one).filter((key) => one[key] !== other[key]).sort();"
        ),
    }
}

fn links() -> Task {
    Task {
        name: "check the links between twelve documents",
        files: || {
            let document = |number: usize| {
                let text = "Some words about this part, as documents have them. ".repeat(8);
                let links = (1..4).map(|step| {
                    format!("See [part {step}](part-{}.md).\n", number + step * 3)
                });
                let links: String = links.collect();
                (format!("docs/part-{number}.md"), format!("# Part {number}\n\n{text}\n{links}"))
            };
            (0..12).map(document).collect()
        },
        direct: |model| {
            async move {
                let names = model.entries("docs").await;
                let known: BTreeSet<_> = names.iter().cloned().collect();
                let mut broken = BTreeSet::new();
                for name in &names {
                    let text = model.read(&format!("docs/{name}")).await;
                    let targets = text.split("](").skip(1);
                    let targets = targets.map(|rest| rest.split(')').next().unwrap().to_owned());
                    let missing = targets.filter(|target| !known.contains(target));
                    broken.extend(missing.map(|target| format!("{name}: {target}")));
                }
                json!(broken)
            }
            .boxed()
        },
        script: with_read!(
            "const { entries } = await tools.read_file({ path: 'docs' });
            const broken = await Promise.all(entries.map(async (name) => {
                const targets = [...(await read(`docs/${name}`)).matchAll(/\\]\\((.*?)\\)/g)];
                return targets.filter(([, target]) => !entries.includes(target)).map(([, target]) => `${name}: ${target}`);
            }));
            return broken.flat().sort();"
        ),
    }
}

fn duplicates() -> Task {
    Task {
        name: "find files of equal content",
        files: || {
            let file = |number: usize| {
                let text = format!("Text number {}.\n", number % 9).repeat(25);
                (format!("texts/{number:02}.txt"), text)
            };
            (0..12).map(file).collect()
        },
        direct: |model| {
            async move {
                let mut by_content = BTreeMap::<String, Vec<String>>::new();
                for name in model.entries("texts").await {
                    let text = model.read(&format!("texts/{name}")).await;
                    by_content.entry(text).or_default().push(name);
                }
                let mut groups: Vec<_> = by_content.into_values().collect();
                groups.retain(|names| names.len() > 1);
                groups.sort();
                json!(groups)
            }
            .boxed()
        },
        script: with_read!(
            "const { entries } = await tools.read_file({ path: 'texts' });
            const groups = new Map();
            const texts = await Promise.all(entries.map((name) => read(`texts/${name}`)));
            texts.forEach((text, at) => groups.set(text, [...(groups.get(text) ?? []), entries[at]]));
            return [...groups.values()].filter(({ length }) => length > 1).sort();"
        ),
    }
}

fn invalid_json() -> Task {
    Task {
        name: "check fifteen files of JSON",
        files: || {
            let file = |number: usize| {
                let tags: Vec<_> = (0..20).map(|tag| format!("tag-{tag}")).collect();
                let mut record = json!({ "name": format!("record {number}"), "tags": tags });
                if number % 6 == 5 {
                    record.as_object_mut().unwrap().remove("name");
                }
                let mut text = serde_json::to_string_pretty(&record).unwrap();
                if number % 7 == 3 {
                    text.truncate(text.len() / 2);
                }
                (format!("records/{number:02}.json"), text)
            };
            (0..15).map(file).collect()
        },
        direct: |model| {
            async move {
                let mut wrong = BTreeMap::new();
                for name in model.entries("records").await {
                    let text = model.read(&format!("records/{name}")).await;
                    match serde_json::from_str::<Value>(&text) {
                        Err(_) => _ = wrong.insert(name, "invalid"),
                        Ok(record) if record["name"].is_null() => {
                            _ = wrong.insert(name, "nameless");
                        }
                        Ok(_) => {}
                    }
                }
                json!(wrong)
            }
            .boxed()
        },
        script: with_read!(
            "const { entries } = await tools.read_file({ path: 'records' });
            const wrong = {};
            await Promise.all(entries.map(async (name) => {
                const text = await read(`records/${name}`);
                try {
                    if (!JSON.parse(text).name) wrong[name] = 'nameless';
                } catch {
                    wrong[name] = 'invalid';
                }
            }));
            return wrong;"
        ),
    }
}

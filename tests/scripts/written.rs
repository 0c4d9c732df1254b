//! Scripts as models write them, with their mistakes. Each gives what it gives in Node.js, or a text with which a model can go on.

use super::*;

/// What a script gives.
#[derive(Debug, Clone, Copy)]
enum Gives {
    /// It returns this JSON, as in Node.js.
    Json(&'static str),
    /// It prints this, and returns nothing, as in Node.js.
    Printed(&'static str),
    /// It returns this JSON, and the note says this: a mistake was mended.
    Noted(&'static str, &'static str),
    /// It fails in this line with an error of this name, whose text has this.
    Fails(u32, &'static str, &'static str),
}
use Gives::{Fails, Json, Noted, Printed};

/// The files of the workspace.
const FILES: [(&str, &str); 5] = [
    (
        "package.json",
        "{\n  \"name\": \"shop\",\n  \"version\": \"1.4.2\",\n  \"dependencies\": { \"left-pad\": \"^1.0.0\", \"zod\": \"^3.22.0\" }\n}\n",
    ),
    (
        "sales.csv",
        "region,amount\nnorth,10.50\nsouth,20\nnorth,4.5\nwest,7\n",
    ),
    (
        "app.log",
        "2026-11-26 10:00:01 INFO start\n2026-11-26 10:00:05 ERROR E42 disk full\n2026-11-26 10:02:00 WARN slow\n2026-11-26 10:03:30 ERROR E7 timeout after 30s\n",
    ),
    ("notes.txt", "one\ntwo\n\nthree\n"),
    ("empty.json", ""),
];

const READING: [(&str, Gives); 12] = [
    (
        "const { content } = await tools.read_file({ path: 'package.json' });
         const { name, dependencies } = JSON.parse(content);
         return [name, Object.keys(dependencies)]",
        Json(r#"["shop", ["left-pad", "zod"]]"#),
    ),
    (
        "const lines = (await tools.read_file({ path: 'notes.txt' })).content.trim().split('\\n');
         return lines.filter(Boolean).map((line, i) => `${i + 1}. ${line}`)",
        Json(r#"["1. one", "2. two", "3. three"]"#),
    ),
    (
        "const { content } = await tools.read_file({ path: 'sales.csv' });
         const [header, ...rows] = content.trim().split('\\n').map((line) => line.split(','));
         const sums = {};
         for (const [region, amount] of rows) sums[region] = (sums[region] ?? 0) + Number(amount);
         return sums",
        Json(r#"{"north": 15, "south": 20, "west": 7}"#),
    ),
    (
        "const { content } = await tools.read_file({ path: 'sales.csv' });
         const rows = content.trim().split('\\n').slice(1).map((line) => {
             const [region, amount] = line.split(',');
             return { region, amount: parseFloat(amount) };
         });
         const groups = Object.groupBy(rows, ({ region }) => region);
         return Object.entries(groups).map(([region, rows]) =>
             `${region.padEnd(6)}|${rows.reduce((sum, { amount }) => sum + amount, 0).toFixed(2).padStart(7)}`)",
        Json(r#"["north |  15.00", "south |  20.00", "west  |   7.00"]"#),
    ),
    (
        "const { content } = await tools.read_file({ path: 'app.log' });
         return [...content.matchAll(/^(?<date>\\S+) (?<time>\\S+) ERROR (?<code>E\\d+) (.*)$/gm)]
             .map(({ groups: { time, code }, 4: text }) => ({ time, code, text }))",
        Json(
            r#"[{"time": "10:00:05", "code": "E42", "text": "disk full"}, {"time": "10:03:30", "code": "E7", "text": "timeout after 30s"}]"#,
        ),
    ),
    (
        "const { content } = await tools.read_file({ path: 'app.log' });
         const times = content.trim().split('\\n').map((line) => new Date(line.slice(0, 19)));
         return (times.at(-1) - times[0]) / 1000",
        Json("209"),
    ),
    (
        "const { output } = await tools.execute({ command: 'cat package.json' });
         return JSON.parse(output).version.split('.').map(Number)",
        Json("[1, 4, 2]"),
    ),
    (
        "return JSON.parse((await tools.read_file({ path: 'empty.json' })).content)",
        Fails(1, "SyntaxError", "\"\" is not valid JSON"),
    ),
    (
        "const { output } = await tools.execute({ command: 'seq 20000' });
         return JSON.parse(`[${output.trim().split('\\n').join(',')}]`).length",
        Fails(2, "SyntaxError", "it was cut"),
    ),
    (
        "const file = await tools.read_file({ path: 'none.txt' });
         return file.content",
        Fails(1, "ToolError", "file does not exist: none.txt"),
    ),
    (
        "const paths = ['package.json', 'none.txt', 'notes.txt'];
         const results = await Promise.allSettled(paths.map((path) => tools.read_file({ path })));
         return results.map(({ status, value, reason }) => value?.total_lines ?? reason.message)",
        Json(r#"[5, "file does not exist: none.txt", 4]"#),
    ),
    (
        "const sizes = [];
         for await (const { path, file } of (async function* () {
             for (const path of ['notes.txt', 'sales.csv']) yield { path, file: await tools.read_file({ path }) };
         })()) sizes.push([path, file.content.length]);
         return Object.fromEntries(sizes)",
        Json(r#"{"notes.txt": 15, "sales.csv": 52}"#),
    ),
];

const RUNNING: [(&str, Gives); 11] = [
    (
        "const { output } = await tools.execute({ command: 'seq 3' });
         return output.trim().split('\\n').length",
        Json("3"),
    ),
    (
        "const commands = ['echo a', 'echo b', 'echo c'];
         const replies = await Promise.all(commands.map((command) => tools.execute({ command })));
         return replies.map((reply) => reply.output.trim()).join('')",
        Json(r#""abc""#),
    ),
    (
        "async function retry<T>(run: () => Promise<T>, times = 3): Promise<T> {
             for (let i = 1; ; i++) {
                 try { return await run(); } catch (error) {
                     if (i === times) throw new Error(`failed after ${times} tries`, { cause: error });
                     await new Promise((resolve) => setTimeout(resolve, 5 * i));
                 }
             }
         }
         let n = 0;
         return await retry(async () => { if (++n < 3) throw new Error('not yet'); return n; })",
        Json("3"),
    ),
    (
        "const { output } = await tools.execute({ command: 'date -u -d @1764151200' });
         const { output: rfc } = await tools.execute({ command: 'date -u -R -d @1764151200' });
         return [new Date(output.trim()).getTime(), new Date(rfc).getTime()]",
        Json("[1764151200000, 1764151200000]"),
    ),
    (
        "const { output } = await tools.execute({ command: \"printf 'b 2\\\\na 10\\\\na 9\\\\n'\" });
         return output.trim().split('\\n').sort((a, b) => a.localeCompare(b, undefined, { numeric: true }))",
        Json(r#"["a 9", "a 10", "b 2"]"#),
    ),
    (
        "const controller = new AbortController();
         const timer = setTimeout(() => controller.abort(new Error('too slow')), 5);
         const result = await Promise.race([
             sleep(5000).then(() => 'done'),
             new Promise((_, reject) => controller.signal.addEventListener('abort', () => reject(controller.signal.reason))),
         ]).catch((error) => error.message);
         clearTimeout(timer);
         return result",
        Json(r#""too slow""#),
    ),
    (
        "let ticks = 0;
         await new Promise<void>((resolve) => {
             const id = setInterval(() => { if (++ticks === 3) { clearInterval(id); resolve(); } }, 1);
         });
         return ticks",
        Json("3"),
    ),
    (
        "const reply = await tools.execute({ cwd: '.' }); return reply.output",
        Fails(1, "ToolError", "command"),
    ),
    (
        "return await tools.bash({ command: 'ls' })",
        Fails(1, "ToolError", "bash"),
    ),
    (
        "async function main() {
             const { output } = await tools.execute({ command: 'echo from main' });
             console.log(output.trim());
         }
         main();",
        Printed("from main\n"),
    ),
    (
        "console.time('t'); console.dir({ a: 1 }); console.timeEnd('none');",
        Printed("{\"a\":1}\n"),
    ),
];

const UNAWAITED: [(&str, Gives); 9] = [
    (
        "const reply = tools.execute({ command: 'echo hi' });\nreturn reply.output",
        Fails(2, "TypeError", "write (await tools.execute(…)).output"),
    ),
    (
        "const { output } = tools.execute({ command: 'echo hi' });\nreturn output",
        Fails(1, "TypeError", "write (await tools.execute(…)).output"),
    ),
    (
        "const reply = tools.execute({ command: 'echo hi' });\nreturn `reply: ${reply}`",
        Fails(2, "TypeError", "there is no text of tools.execute(…)"),
    ),
    (
        "const read = async (path) => (await tools.read_file({ path })).content;\nconst text = read('notes.txt');\nreturn text.length",
        Fails(3, "TypeError", "`length` was read from a promise"),
    ),
    (
        "return JSON.stringify({ reply: tools.execute({ command: 'echo hi' }) })",
        Fails(1, "TypeError", "there is no JSON of tools.execute(…)"),
    ),
    (
        "const { exit_code } = await tools.execute({ command: 'exit 3' }).catch((error) => error.reply);
         return { exit_code, other: tools.read_file({ path: 'notes.txt' }).then((file) => file.total_lines) }",
        Json(r#"{"exit_code": 3, "other": 4}"#),
    ),
    (
        "return ['a', 'b'].map(async (name) => (await tools.execute({ command: `echo ${name}` })).output.trim())",
        Json(r#"["a", "b"]"#),
    ),
    (
        "const lengths = [];
         ['notes.txt'].forEach(async (path) => lengths.push((await tools.read_file({ path })).total_lines));
         return lengths",
        Noted("[4]", "forEach awaits nothing"),
    ),
    (
        "for (const line of tools.execute({ command: 'seq 3' })) console.log(line)",
        Fails(1, "TypeError", "nothing to iterate in tools.execute(…)"),
    ),
];

const WRONG: [(&str, Gives); 15] = [
    (
        "const { output } = await tools.execute({ command: 'echo hi' });\nreturn output.trimm()",
        Fails(2, "TypeError", "output.trimm is not a function"),
    ),
    (
        "const reply = await tools.execute({ command: 'echo hi' });\nreturn reply.stdout.trim()",
        Fails(
            2,
            "TypeError",
            "'trim' of undefined: reply.stdout is undefined",
        ),
    ),
    (
        "const reply = await tools.execute({ command: 'echo hi' });\nfor (const line of reply.lines) console.log(line)",
        Fails(2, "TypeError", "reply.lines is not iterable"),
    ),
    (
        "const total = [1, 2];\ntotal = 3",
        Fails(2, "TypeError", "'total' is read-only"),
    ),
    (
        "const rows = [[1, 2], [3, 4];\nreturn rows",
        Fails(1, "SyntaxError", "Expected `,` or `]` but found `;`"),
    ),
    (
        "const fs = require('fs');\nreturn fs.readFileSync('notes.txt', 'utf8')",
        Fails(
            1,
            "ReferenceError",
            "require is not defined: a script has no modules",
        ),
    ),
    (
        "import fs from 'node:fs';\nreturn 1",
        Fails(1, "SyntaxError", "`import` is not supported"),
    ),
    (
        "const response = await fetch('https://example.com');",
        Fails(1, "ReferenceError", "curl -s URL"),
    ),
    (
        "return Buffer.from('hi').toString('base64')",
        Fails(1, "ReferenceError", "TextEncoder"),
    ),
    (
        "return process.env.HOME",
        Fails(1, "ReferenceError", "run a command with tools.execute"),
    ),
    (
        "function count(n: number): number { return count(n + 1) + 1 }\nreturn count(0)",
        Fails(1, "RangeError", "functions call each other too deep"),
    ),
    (
        "const parts = [];\nfor (;;) parts.push('x'.repeat(1_000_000) + parts.length)",
        Fails(2, "RangeError", "more than the memory that it may have"),
    ),
    (
        "try { null.a } catch (error) { throw new Error('it failed', { cause: error }) }",
        Fails(1, "Error", "it failed"),
    ),
    (
        "await Promise.any([Promise.reject(new Error('one')), Promise.reject(new Error('two'))])",
        Fails(1, "AggregateError", ""),
    ),
    (
        "return (1234.5).toLocaleString('de-DE')",
        Fails(1, "RangeError", "only the locale en-US"),
    ),
];

const COMPUTING: [(&str, Gives); 18] = [
    (
        "return ['2026-11-26 10:00', 'Nov 26, 2026', '2026/11/26', '26 November 2026 10:00 GMT']
             .map((text) => new Date(text).toISOString())",
        Json(
            r#"["2026-11-26T10:00:00.000Z", "2026-11-26T00:00:00.000Z", "2026-11-26T00:00:00.000Z", "2026-11-26T10:00:00.000Z"]"#,
        ),
    ),
    (
        "const day = new Date('2026-01-31T12:00:00Z');
         day.setUTCMonth(day.getUTCMonth() + 1);
         const days = Math.round((new Date('2026-12-24') - new Date('2026-11-26')) / 86_400_000);
         return [day.toISOString().slice(0, 10), days, new Date(0).toLocaleDateString('en-US', { weekday: 'long', month: 'long', day: 'numeric', year: 'numeric' })]",
        Json(r#"["2026-03-03", 28, "Thursday, January 1, 1970"]"#),
    ),
    (
        "return [(1234567.891).toLocaleString(), (1234.5).toLocaleString('en-US', { minimumFractionDigits: 2 }),
             (0.256).toLocaleString('en-US', { style: 'percent' }), (1234.5).toLocaleString('en-US', { style: 'currency', currency: 'USD' }),
             new Intl.NumberFormat('en-US', { notation: 'compact' }).format(1_234_567)]",
        Json(r#"["1,234,567.891", "1,234.50", "26%", "$1,234.50", "1.2M"]"#),
    ),
    (
        "return ['b', 'a', 'B', 'A', 'file10', 'file9', 'é', 'z'].sort((a, b) => a.localeCompare(b, 'en', { numeric: true }))",
        Json(r#"["a", "A", "b", "B", "é", "file9", "file10", "z"]"#),
    ),
    (
        "const text = 'line of text\\n'.repeat(80_000);
         return [text.split('\\n').length, [...text.matchAll(/text/g)].length, text.replace(/line/g, 'x').length]",
        Json("[80001, 80000, 800000]"),
    ),
    (
        "const rows = Array.from({ length: 50_000 }, (_, id) => ({ id, name: `user ${id}`, email: `user${id}@example.com`, tags: ['a', 'b'] }));
         const text = JSON.stringify(rows);
         return [text.length, JSON.parse(text).at(-1).name]",
        Json(r#"[4066671, "user 49999"]"#),
    ),
    (
        "let x = 1;
         const numbers = Array.from({ length: 200_000 }, () => (x = (x * 16807) % 2147483647));
         numbers.sort((a, b) => a - b);
         return [numbers[0], numbers.at(-1)]",
        Json("[8383, 2147483531]"),
    ),
    (
        "const url = new URL('/search?q=a%20b&page=2#top', 'https://example.com:8443');
         url.searchParams.set('page', '3');
         return [url.href, url.searchParams.get('q'), url.host, String(new URLSearchParams({ a: '1', b: 'x y' }))]",
        Json(
            r##"["https://example.com:8443/search?q=a+b&page=3#top", "a b", "example.com:8443", "a=1&b=x+y"]"##,
        ),
    ),
    (
        "const bytes = new TextEncoder().encode('héllo €');
         return [bytes.length, new TextDecoder().decode(bytes), btoa('hi'), atob('aGk='), bytes.toBase64()]",
        Json(r#"[10, "héllo €", "aGk=", "hi", "aMOpbGxvIOKCrA=="]"#),
    ),
    (
        "const original = { when: new Date(0), tags: new Set(['a']), nested: { list: [1, 2] } };
         const copy = structuredClone(original);
         copy.nested.list.push(3);
         return [original.nested.list.length, copy.when.getTime(), copy.tags.has('a')]",
        Json("[2, 0, true]"),
    ),
    (
        "enum Level { Low = 1, High, Text = 'text' }
         interface Item { level: Level; name: string }
         namespace Names { export const of = (item: Item) => `${item.name}:${Level[item.level as number]}` }
         class Box { constructor(private readonly items: Item[], public label = 'box') {} names() { return this.items.map(Names.of) } }
         return [new Box([{ level: Level.High, name: 'x' }]).names(), Level.Text]",
        Json(r#"[["x:High"], "text"]"#),
    ),
    (
        "console.log('%s has %d of %j', 'a', 5, { b: 1 });
         console.group('group');
         console.log('in it');
         console.groupEnd();
         console.table([{ a: 1, b: 'x' }]);",
        Printed(
            "a has 5 of {\"b\":1}\ngroup\n  in it\n┌─────────┬───┬─────┐\n│ (index) │ a │ b   │\n├─────────┼───┼─────┤\n│ 0       │ 1 │ 'x' │\n└─────────┴───┴─────┘\n",
        ),
    ),
    (
        "return [await Array.fromAsync([Promise.resolve(1), 2]), [3, 1, 2].toSorted(), [1, 2, 3].findLast((n) => n < 3), 'a-b-c'.replaceAll('-', '+')]",
        Json(r#"[[1, 2], [1, 2, 3], 2, "a+b+c"]"#),
    ),
    (
        "const steps: string[] = [];
         queueMicrotask(() => steps.push('microtask'));
         setTimeout(() => steps.push('timeout'), 0);
         steps.push('sync');
         await sleep(5);
         return steps",
        Json(r#"["sync", "microtask", "timeout"]"#),
    ),
    (
        "const id = crypto.randomUUID();
         return [/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(id), crypto.getRandomValues(new Uint8Array(4)).length, performance.now() >= 0]",
        Json("[true, 4, true]"),
    ),
    (
        "const counts = new Map<string, number>();
         for (const word of 'the cat and the dog and the bird'.split(' ')) counts.set(word, (counts.get(word) ?? 0) + 1);
         return [...counts].sort(([a, m], [b, n]) => n - m || a.localeCompare(b)).slice(0, 2)",
        Json(r#"[["the", 3], ["and", 2]]"#),
    ),
    (
        "return [0.1 + 0.2, (0.1 + 0.2).toFixed(2), 2 ** 53, 9007199254740993n * 2n, 7 % -3, parseInt('08'), Number(''), [10, 9, 1].sort()]",
        Json(
            r#"[0.30000000000000004, "0.30", 9007199254740992, "18014398509481986", 1, 8, 0, [1, 10, 9]]"#,
        ),
    ),
    (
        "return 'half \\ud800 of a pair'",
        Noted(r#""half � of a pair""#, "replaced by U+FFFD"),
    ),
];

#[tokio::test]
async fn they_give_what_node_gives_or_a_text_to_go_on_with() {
    let setup = with_scripts().await;
    for (name, content) in FILES {
        std::fs::write(setup.root().join(name), content).unwrap();
    }
    let cases = [READING.as_slice(), &RUNNING, &UNAWAITED, &WRONG, &COMPUTING];
    let mut wrong = Vec::new();
    for (code, gives) in cases.concat() {
        let report = report(&setup.host, script(code)).await;
        if !is_right(&report, gives) {
            wrong.push(format!("{code}\n  {gives:?}\n  {report}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

/// Returns whether a report is what a script should give.
fn is_right(report: &Value, gives: Gives) -> bool {
    let has = |value: &Value, text: &str| value.as_str().is_some_and(|value| value.contains(text));
    let json = |text: &str| serde_json::from_str::<Value>(text).unwrap();
    match gives {
        Json(expected) => report["result"] == json(expected) && report.get("note").is_none(),
        Printed(expected) => report["output"] == expected && report.get("error").is_none(),
        Noted(expected, note) => report["result"] == json(expected) && has(&report["note"], note),
        Fails(line, name, text) => {
            let error = &report["error"];
            error["name"] == name
                && error["line"] == line
                && has(&error["message"], text)
                && error["source"].is_string()
        }
    }
}

// The tools of the table in JavaScript, for both engines: what every language must do alike.

import { Denied, Failed, InvalidArguments, Reply, Unavailable, context, log, progress, settings, t, tool } from "toolhost";
import * as files from "toolhost/files";
import * as http from "toolhost/http";
import * as processes from "toolhost/processes";

export { tools } from "toolhost";

const ERRORS = { invalid: InvalidArguments, denied: Denied, unavailable: Unavailable, failed: Failed };

tool({
  name: "echo",
  description: "Repeats a text.",
  title: "Echo",
  readOnly: true,
  idempotent: true,
  maxDuration: 60,
  examples: [{ arguments: { text: "a" } }],
  input: {
    text: t.string("The text."),
    times: t.integer("How often.", { minimum: 1, maximum: 3 }).default(1),
    note: t.string().optional(),
  },
  run: ({ text, times, note = "" }) => text.repeat(times) + note,
});

tool({
  name: "big",
  description: "Replies with a text of this many KiB.",
  readOnly: true,
  input: { kib: t.integer(undefined, { minimum: 0 }) },
  run: ({ kib }) => "x".repeat(kib << 10),
});

tool({
  name: "parts",
  description: "Replies with parts of every kind.",
  readOnly: true,
  run: () =>
    new Reply("é")
      .json({ ü: [1, null] })
      .image(new Uint8Array([0, 255]), "image/png")
      .document("docs:a", new TextEncoder().encode("d"), "text/plain")
      .document("docs:b"),
});

tool({
  name: "fail",
  description: "Fails in one of several ways.",
  readOnly: true,
  input: { how: t.enum(["invalid", "denied", "unavailable", "failed", "reply", "broken"]) },
  run({ how }) {
    if (ERRORS[how] !== undefined) throw new ERRORS[how](`é ${how}`);
    if (how === "broken") throw new RangeError("é broken");
    return Reply.error("é reply");
  },
});

tool({
  name: "tell",
  description: "Writes to the log, and reports progress.",
  readOnly: true,
  run() {
    for (const write of [log.debug, log.info, log.warn, log.error]) write("told é");
    console.log("printed é");
    progress.report(0, 2);
    progress.report(1, 2, "half é");
    progress.report(2, 2);
    return "told";
  },
});

tool({
  name: "surroundings",
  description: "Says what the call sees of its host.",
  readOnly: true,
  run() {
    let secret;
    try {
      secret = settings.secret("key");
    } catch (error) {
      if (!(error instanceof Denied)) throw error;
      secret = error.message;
    }
    const remaining = context.remaining();
    return {
      chat: context.chat(),
      root: context.workspaceRoot(),
      has_time: remaining > 0 && remaining <= 60 * 60,
      cancelled: context.cancelled(),
      locale: context.attribute("locale") ?? null,
      setting: settings.get("setting") ?? null,
      other: settings.get("other", "default"),
      secret,
    };
  },
});

tool({
  name: "spin",
  description: "Computes without end.",
  readOnly: true,
  run() {
    for (;;);
  },
});

tool({
  name: "hoard",
  description: "Takes memory without end.",
  readOnly: true,
  run() {
    for (const hoarded = []; ; ) hoarded.push("x".repeat(100_000) + hoarded.length);
  },
});

tool({
  name: "shell",
  description: "Runs a command to its end.",
  input: {
    command: t.string(),
    env: t.record(t.string()).optional(),
    stdin: t.string().optional(),
    timeout: t.number().optional(),
  },
  run({ command, ...options }) {
    const { state, text, total } = processes.run(command, options);
    return { code: state.code ?? null, signal: state.signal ?? null, text, total };
  },
});

tool({
  name: "background",
  description: "Starts a command, and looks at it in all ways.",
  input: { command: t.string() },
  run({ command }) {
    const process = processes.start(command, { background: true });
    const matched = process.wait(60, { until: "ready" });
    const chunk = process.read(0, matched.matchEnd);
    const listed = processes.listProcesses({ runningOnly: true }).processes;
    const state = process.signal("kill");
    const ended = processes.open(process.id).wait(60);
    return {
      wake: matched.wake,
      read: new TextDecoder().decode(chunk.data),
      listed: listed.map((info) => info.command),
      before: state.kind,
      after: ended.state.signal,
      cause: ended.state.cause,
    };
  },
});

tool({
  name: "store",
  description: "Writes a file, and reads it again.",
  input: { path: t.string(), text: t.string() },
  run({ path, text }) {
    const { version } = files.write(path, text, { absent: true });
    const again = files.write(path, `${text}\n`, { version });
    return {
      size: again.size,
      text: files.readText(path),
      lines: files.skipLines(path, 0, 99).lines,
      kind: files.metadata(path).kind,
      names: files.listDirectory().map(({ name }) => name),
      exists: files.exists("nowhere"),
    };
  },
});

tool({
  name: "get",
  description: "Gets what is at an address.",
  readOnly: true,
  input: { url: t.string() },
  // No async function: QuickJS, which waits for no promise, refuses that when it is built, and this when it is called.
  run({ url }) {
    const asked = http.request("POST", url, { json: { k: "é" }, headers: { "X-Asked": "yes" } });
    return asked.then(({ status, headers, text }) => ({ status, type: headers["content-type"], text }));
  },
});

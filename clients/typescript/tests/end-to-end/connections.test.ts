// A client over connections that fail, and one that was killed.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { join } from "node:path";
import test from "node:test";

import { type Chat, type ChatEvent, Refused, Toolhost } from "toolhost-client";

import { proxy } from "./proxy.js";
import { converse, model, PROVIDERS, root, Server, skip, TOKEN, until } from "./world.js";

/** Makes calls, each with an event, until a reader of the events has got one: the stream may open after the first. */
async function untilHeard(chat: Chat, isHeard: () => boolean): Promise<void> {
  await until(async () => {
    await chat.call(randomUUID(), "process_list", {});
    return isHeard();
  });
}

test("a call runs once over a connection that fails", { skip }, async (t) => {
  const server = await Server.start(t);
  const { url } = await proxy(t, server.url, ({ method }, response, number) => {
    if (method !== "PUT") return false;
    if (number === 0) response.writeHead(429, { "retry-after": "0" }).end("busy");
    else if (number === 1) response.writeHead(503, { "retry-after": "Sun, 06 Nov 1994 08:49:37 GMT" }).end("busy");
    else if (number === 2) response.writeHead(503, { "retry-after": "soon" }).end("busy");
    else if (number === 3) response.destroy();
    else return false;
    return true;
  });
  // The connection of the request that arrives is cut while the call runs.
  const cutting = await proxy(t, url, () => false);
  const calling = server
    .chat("c", cutting.url)
    .call("1.0", "execute", { command: "echo a >> log; until [ -e go ]; do sleep 0.1; done; cat log" });
  await until(() => server.read("log"));
  cutting.cut();
  await server.chat("c").files.put("go", "");
  const { structured } = await calling;
  assert.equal((structured as { output: string }).output, "a\n");
});

test("a repeated change of a file finds its own version", { skip }, async (t) => {
  const server = await Server.start(t);
  const direct = server.chat("c").files;
  /** Returns the files of a client that loses the answer to its first request, which was carried out. */
  const files = () => {
    let isLost = false;
    const losing: typeof fetch = async (input, init) => {
      const response = await fetch(input, init);
      if (isLost) return response;
      isLost = true;
      await response.text();
      throw new TypeError("fetch failed");
    };
    return new Toolhost(server.url, TOKEN, { fetch: losing }).chat("c").files;
  };
  const refused = (code: string) => (error: unknown) => error instanceof Refused && error.code === code;

  const first = await files().put("a", "first", { ifMatch: null });
  const etag = await files().put("a", "second", { ifMatch: first });
  assert.equal(await (await direct.get("a")).text(), "second");
  await files().delete("a", { ifMatch: etag });
  // The version of another writer is a refusal, and so is a condition that never held.
  await direct.put("a", "another");
  await assert.rejects(files().put("a", "mine", { ifMatch: null }), refused("file_changed"));
  await assert.rejects(direct.put("a", "another", { ifMatch: null }), refused("file_changed"));
  await assert.rejects(direct.delete("b"), refused("unknown_file"));
  assert.equal(await (await direct.get("a")).text(), "another");
});

test("events come once and in order over connections that are cut", { skip }, async (t) => {
  const server = await Server.start(t);
  const { url, cut } = await proxy(t, server.url, () => false);
  const found: ChatEvent[] = [];
  const chat = server.chat("c");
  let text = "";
  const reading = (async () => {
    for await (const event of server.chat("c", url).events()) {
      found.push(event);
      if (event.type === "output") {
        assert.equal(event.data.offset, text.length);
        text += event.data.text;
        // The connection is cut after each of the first outputs.
        if (text.length < 20) cut();
        // One line is written at a time.
        await chat.files.put(`read-${text.length / 2}`, "");
      }
    }
  })();
  await untilHeard(chat, () => found.length > 0);
  const command = "for i in 0 1 2 3 4 5 6 7 8 9; do echo $i; until [ -e read-$((i + 1)) ]; do sleep 0.05; done; done";
  await chat.call("1.0", "execute", { command, timeout: "10m" });
  await chat.end();
  await reading;
  assert.equal(text, "0\n1\n2\n3\n4\n5\n6\n7\n8\n9\n");
  assert.equal(new Set(found.map(({ id }) => id)).size, found.length);
  const ofCall = found.filter((event) => event.type !== "call" || event.data.call === "1.0");
  const types = ofCall.map(({ type }) => type).filter((type) => type !== "output" && type !== "progress");
  assert.deepEqual(types, ["call", "process_started", "process", "call", "chat_ended"]);
});

test("the stream goes on with a reset after a restart of Toolhost", { skip }, async (t) => {
  const server = await Server.start(t);
  const stop = new AbortController();
  const types: string[] = [];
  const reading = (async () => {
    for await (const { type } of server.chat("c").events({ output: false, signal: stop.signal })) types.push(type);
  })();
  await untilHeard(server.chat("c"), () => types.length > 0);
  await server.kill();
  await server.restart();
  await until(() => types.includes("reset"));
  const { length } = types;
  await untilHeard(server.chat("c"), () => types.length > length);
  stop.abort();
  await reading;
});

test("a chat server that was killed goes on with its stored messages", { skip }, async (t) => {
  const server = await Server.start(t);
  const command = "echo $$ >> once; until [ -e go ]; do sleep 0.1; done; echo done";
  await model(t, [
    { text: "I wait.", calls: [{ as: "a", tool: "execute", arguments: { command, timeout: "1h" } }] },
    { text: "{a.output}" },
  ]);
  for (const provider of PROVIDERS) {
    await t.test(provider, async () => {
      const chat = server.chat(provider);
      const program = join(root, "examples/chat/typescript/dist/chat.js");
      const at = ["--provider", provider, "--chat", provider, "--messages", server.file(`${provider}.json`)];
      const env = { ...process.env, TOOLHOST_URL: server.url, TOOLHOST_TOKEN: TOKEN };
      const start = (...prompt: string[]) =>
        spawn(process.execPath, [program, ...at, ...prompt], { env, stdio: ["ignore", "pipe", "inherit"] });
      const first = start("Wait.");
      await until(() => server.read("once")?.endsWith("\n"));
      first.kill("SIGKILL");
      const second = start();
      let said = "";
      second.stdout.on("data", (data) => (said += data));
      const ended = new Promise((resolve) => second.once("close", resolve));
      await chat.files.put("go", "");
      assert.equal(await ended, 0);
      assert.equal(said.trim(), "done");
      assert.equal(server.read("once")?.trim().split("\n").length, 1);
      for (const name of ["go", "once"]) await chat.files.delete(name);
    });
  }
});

test("a loop goes on when the connection is cut in the middle of a call", { skip }, async (t) => {
  const server = await Server.start(t);
  const { url, cut } = await proxy(t, server.url, () => false);
  const command = "echo $$ >> once; until [ -e go ]; do sleep 0.1; done; echo done";
  await model(t, [
    { calls: [{ as: "a", tool: "execute", arguments: { command, timeout: "1h" } }] },
    { text: "{a.output}" },
  ]);
  const running = converse("anthropic", server.chat("c", url));
  await until(() => server.read("once")?.endsWith("\n"));
  cut();
  await server.chat("c").files.put("go", "");
  assert.equal((await running).text.trim(), "done");
  assert.equal(server.read("once")?.trim().split("\n").length, 1);
});

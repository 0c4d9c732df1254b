// The loops of examples/chat with the SDKs of five providers.

import assert from "node:assert/strict";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";

import { converse, model, PROVIDERS, Server, skip, until } from "./world.js";

/** A PNG image with one pixel. */
const PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const size = Buffer.from(PIXEL, "base64").length;
const execute = (as: string, command: string, options = {}) => ({
  as,
  tool: "execute",
  arguments: { command, ...options },
});
/** Waits until the other command of the turn runs, too. */
const meet = (own: string, other: string) =>
  `touch ${own}; until [ -e ${other} ]; do sleep 0.1; done; echo ${own} | tee -a log`;

test("a loop runs parallel calls with one id, and passes on images and errors", { skip }, async (t) => {
  const server = await Server.start(t);
  await model(t, [
    {
      text: "I look.",
      calls: [
        { ...execute("a", meet("a", "b")), id: "call_0" },
        { ...execute("b", meet("b", "a")), id: "call_0" },
      ],
    },
    { calls: [{ as: "image", id: "call_0", tool: "read_file", arguments: { path: "pixel.png" } }] },
    { calls: [{ as: "none", id: "call_0", tool: "read_file", arguments: { path: "none" } }] },
    { text: "{a.output}{b.output}{image:images} {none:is_error} {none}" },
  ]);
  writeFileSync(join(server.workspace, "pixel.png"), Buffer.from(PIXEL, "base64"));
  for (const provider of PROVIDERS) {
    await t.test(provider, async () => {
      for (const name of ["log", "a", "b"]) rmSync(join(server.workspace, name), { force: true });
      const chat = server.chat(provider);
      const { text, messages } = await converse(provider, chat);
      // OpenAI has no field for errors.
      const isError = provider.startsWith("openai") ? "False" : "True";
      assert.match(text, new RegExp(`^I look.\\s+a\\nb\\n\\['image/png of ${size} bytes'\\] ${isError} .*none`));
      // The same chat again: nothing runs twice.
      const log = server.read("log");
      assert.deepEqual((await converse(provider, chat)).messages, messages);
      assert.equal(server.read("log"), log);
      assert.equal(log?.split("\n").length, 3);
    });
  }
});

test("a loop goes on when Toolhost was killed in the middle of a call", { skip }, async (t) => {
  const server = await Server.start(t);
  await model(t, [
    { calls: [execute("slow", "echo $$ >> once; exec sleep 1000", { timeout: "1h" }), execute("fast", "echo fast")] },
    { text: "{fast.output}{slow}" },
  ]);
  for (const provider of PROVIDERS) {
    await t.test(provider, async () => {
      rmSync(join(server.workspace, "once"), { force: true });
      const chat = server.chat(provider);
      const running = converse(provider, chat);
      await until(() => server.read("once")?.endsWith("\n"));
      await until(async () => (await chat.get("1.1")).state === "finished");
      await server.kill();
      await server.restart();
      const { text } = await running;
      assert.ok(text.trim().startsWith("fast\n"), text);
      assert.match(text, /stopped|unknown|not known/);
      assert.equal(server.read("once")?.trim().split("\n").length, 1);
    });
  }
});

test("an abort cancels the calls, and the messages say so", { skip }, async (t) => {
  const server = await Server.start(t);
  await model(t, [{ calls: [execute("a", "echo $$ > pid; exec sleep 1000", { timeout: "1h" })] }, { text: "never" }]);
  for (const provider of PROVIDERS) {
    await t.test(provider, async () => {
      rmSync(join(server.workspace, "pid"), { force: true });
      const stop = new AbortController();
      const running = converse(provider, server.chat(provider), stop.signal);
      await until(() => server.read("pid")?.endsWith("\n"));
      stop.abort();
      const { messages } = await running;
      assert.equal(messages.length, 3);
      assert.match(JSON.stringify(messages.at(-1)), /cancelled/);
    });
  }
});

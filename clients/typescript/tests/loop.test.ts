// The loop: parallel calls, problems, and cancelling.

import assert from "node:assert/strict";
import test from "node:test";

import { Refused, type Reply, shown, Toolhost } from "toolhost-client";
import { type Message, run } from "toolhost-client/openai";

import { json, problem, reply, serve } from "./server.js";

const call = (name: string) => ({ id: "call_0", type: "function" as const, function: { name, arguments: "" } });
const asked = (...tools: string[]): Message[] => [{ role: "assistant", content: null, tool_calls: tools.map(call) }];
const contents = (messages: Message[]) => messages.map(({ content }) => content);

test("the calls of a turn run at the same time, and come back in order", async (t) => {
  const waiting: (() => void)[] = [];
  const { url, arrived } = await serve(t, (response, request) => {
    const id = request.url.split("/").at(-1)!;
    waiting.push(() => json(response, 200, reply(id, id)));
    // The last one is answered first.
    if (waiting.length === 3) for (const answer of waiting.reverse()) answer();
  });
  const told = await run(new Toolhost(url).chat("c"), asked("a", "b", "c"), {
    workspace: "w",
    attributes: { locale: "de" },
  });
  assert.deepEqual(contents(told), ["1.0", "1.1", "1.2"]);
  assert.deepEqual(JSON.parse(arrived[0]!.body), {
    tool: "a",
    arguments: "",
    workspace: "w",
    attributes: { locale: "de" },
  });
});

test("a problem is an error for the model, but for a token that is not valid", async (t) => {
  const { url } = await serve(t, (response, { body }) => {
    const tool = JSON.parse(body).tool;
    problem(response, tool === "secret" ? 401 : 413, tool === "secret" ? "wrong_token" : "too_large");
  });
  const chat = new Toolhost(url).chat("c");
  assert.deepEqual(contents(await run(chat, asked("a"))), ["too_large: the reason"]);
  await assert.rejects(run(chat, asked("secret")), Refused);
});

test("an abort cancels the calls, and their replies are the results", async (t) => {
  const stop = new AbortController();
  const cancelled = new Map<string, () => void>();
  const { url, arrived } = await serve(t, (response, { method, url }) => {
    const id = url.split("/").at(-1)!;
    const answer = { ...reply(id, `cancelled ${id}`), state: "cancelled", is_error: true };
    if (method === "PUT") {
      cancelled.set(id, () => json(response, 200, answer));
      if (cancelled.size === 2) stop.abort();
    } else {
      cancelled.get(id)!();
      json(response, 200, answer);
    }
  });
  const told = await run(new Toolhost(url).chat("c"), asked("a", "b"), { signal: stop.signal });
  assert.deepEqual(contents(told), ["cancelled 1.0", "cancelled 1.1"]);
  assert.equal(arrived.length, 4);
});

test("a call never runs if it was cancelled before", async (t) => {
  const { url, arrived } = await serve(t, (response, { method }) =>
    method === "PUT" ? problem(response, 409, "cancelled") : response.writeHead(204).end(),
  );
  const told = await run(new Toolhost(url).chat("c"), asked("a"), { signal: AbortSignal.abort() });
  assert.match(String(told[0]?.content), /^cancelled: the reason/);
  assert.deepEqual(
    arrived.map(({ method }) => method),
    ["DELETE", "PUT"],
  );
});

test("only images that every provider takes are shown, and none of an error", () => {
  const image = (media_type: string) => ({ type: "image" as const, media_type, data: "" });
  const content = [image("image/png"), image("image/tiff")];
  const good = { ...reply("1.0"), content } as unknown as Reply;
  assert.deepEqual(shown(good), { text: "[image, image/tiff]", isError: false, images: [image("image/png")] });
  const text = "[image, image/png]\n[image, image/tiff]";
  assert.deepEqual(shown({ ...good, is_error: true }), { text, isError: true, images: [] });
  assert.deepEqual(shown({ ...good, content: [] }), { text: "(no text)", isError: false, images: [] });
});

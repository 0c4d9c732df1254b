// The requests of a chat, and their pages.

import assert from "node:assert/strict";
import test from "node:test";

import { Toolhost } from "toolhost-client";

import { json, serve } from "./server.js";

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found = [];
  for await (const item of items) found.push(item);
  return found;
}

test("lists are read page by page", async (t) => {
  const { url, arrived } = await serve(t, (response, { url }) => {
    const isLast = url.includes("after=");
    if (url.includes("/calls"))
      json(response, 200, { calls: [{ id: isLast ? "1" : "2" }], ...(!isLast && { next: "1f4" }) });
    else
      json(response, 200, {
        path: ".",
        entries: [{ name: isLast ? "b" : "a" }],
        total: 2,
        ...(!isLast && { next: 1 }),
      });
  });
  const chat = new Toolhost(`${url}/`).chat("c");
  assert.deepEqual(await all(chat.calls({ success: false, tool: "execute" })), [{ id: "2" }, { id: "1" }]);
  assert.deepEqual(await all(chat.files.list("out dir")), [{ name: "a" }, { name: "b" }]);
  assert.deepEqual(
    arrived.map(({ url }) => url),
    [
      "/v1/chats/c/calls?success=false&tool=execute&limit=500",
      "/v1/chats/c/calls?success=false&tool=execute&after=1f4&limit=500",
      "/v1/chats/c/files/out%20dir?limit=1000",
      "/v1/chats/c/files/out%20dir?after=1&limit=1000",
    ],
  );
});

test("files are sent again unless that could find another version", async (t) => {
  const { url, arrived } = await serve(t, (response, _, number) => {
    if (number === 0) return response.destroy();
    response.writeHead(201, { etag: '"1"' }).end();
  });
  const { files } = new Toolhost(url).chat("c");
  assert.equal(await files.put("/srv/a b", "text"), '"1"');
  assert.equal(await files.put("b", new Uint8Array([97]), { ifMatch: '"1"' }), '"1"');
  await files.put("c", new Blob(["c"]).stream(), { ifMatch: null });
  const seen = arrived.map(({ url, body, headers }) => [url, body, headers["if-match"] ?? headers["if-none-match"]]);
  const first = ["/v1/chats/c/files/%2Fsrv/a%20b", "text", undefined];
  assert.deepEqual(seen, [first, first, ["/v1/chats/c/files/b", "a", '"1"'], ["/v1/chats/c/files/c", "c", "*"]]);
});

test("tools are a list in every format", async (t) => {
  const { url, arrived } = await serve(t, (response, { url }) =>
    json(response, 200, url.includes("json") ? { tools: [1] } : [2]),
  );
  const chat = new Toolhost(url).chat("c");
  assert.deepEqual(await chat.tools(), [1]);
  assert.deepEqual(await chat.tools("openai", { strict: true }), [2]);
  assert.equal(arrived[1]?.url, "/v1/tools?format=openai&strict=true&chat=c");
});

test("the address and the token are in the environment", async (t) => {
  const { url, arrived } = await serve(t, (response) => json(response, 200, []));
  Object.assign(process.env, { TOOLHOST_URL: url, TOOLHOST_TOKEN: "from-environment" });
  await new Toolhost().chat("c").tools("openai");
  assert.equal(arrived[0]?.headers.authorization, "Bearer from-environment");
});

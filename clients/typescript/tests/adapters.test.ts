// The adapters of providers: calls and results of recorded messages.

import assert from "node:assert/strict";
import test from "node:test";

import { Refused, type Reply } from "toolhost-client";
import * as anthropic from "toolhost-client/anthropic";
import * as bedrock from "toolhost-client/bedrock";
import * as gemini from "toolhost-client/gemini";
import * as openai from "toolhost-client/openai";
import * as responses from "toolhost-client/openai-responses";

const data = Buffer.from("image").toString("base64");
const base = { tool: "execute", processes: [], duration_ms: 1, queued_ms: 0 };
const good: Reply = {
  ...base,
  id: "2.0",
  state: "finished",
  is_error: false,
  content: [{ type: "json", json: { output: "a\n" } }],
};
const withImage: Reply = {
  ...good,
  content: [
    { type: "text", text: "an image" },
    { type: "image", media_type: "image/png", data },
  ],
};
const bad: Reply = { ...withImage, is_error: true, content: [{ type: "text", text: "no such file" }] };
const gone = new Refused({ type: "", title: "", status: 410, code: "gone", detail: "it is gone" });
const said = "gone: it is gone. The call may have run: look at its effects before you repeat it.";
const text = '{"output":"a\\n"}';
const ids = (calls: { id: string }[]) => calls.map(({ id }) => id);

test("chat completions", () => {
  const call = (id: string) => ({
    id,
    type: "function" as const,
    function: { name: "execute", arguments: '{"command":"a"}' },
  });
  const messages: openai.Message[] = [
    { role: "user", content: "hello" },
    { role: "assistant", content: null, tool_calls: [call("call_0")] },
    { role: "tool", tool_call_id: "call_0", content: "x" },
    { role: "assistant", content: "two", tool_calls: [call("call_0"), call("call_0"), call("call_1")] },
  ];
  const parsed = { ...call("call_2"), function: { ...call("call_2").function, parsed_arguments: {} } };
  const message = { role: "assistant" as const, content: "x", refusal: null, parsed: null, tool_calls: [parsed] };
  assert.deepEqual(openai.messageOf(message), { role: "assistant", content: "x", tool_calls: [call("call_2")] });
  const calls = openai.callsOf(messages);
  assert.deepEqual(calls[0], { id: "2.0", modelId: "call_0", tool: "execute", arguments: '{"command":"a"}' });
  assert.deepEqual(ids(calls), ["2.0", "2.1", "2.2"]);
  assert.deepEqual(ids(openai.callsOf(messages, { turn: 12 })), ["12.0", "12.1", "12.2"]);
  const told = openai.results(calls, [good, withImage, gone]);
  assert.deepEqual(told, [
    { role: "tool", tool_call_id: "call_0", content: text },
    { role: "tool", tool_call_id: "call_0", content: "an image" },
    { role: "tool", tool_call_id: "call_1", content: said },
    { role: "user", content: [{ type: "image_url", image_url: { url: `data:image/png;base64,${data}` } }] },
  ]);
  assert.deepEqual(ids(openai.callsOf([...messages, told[0]!])), ["2.1", "2.2"]);
  assert.deepEqual(openai.callsOf([...messages, ...told]), []);
  assert.deepEqual(openai.callsOf([]), []);
  assert.deepEqual(openai.results([], []), []);
});

test("responses", () => {
  const call = (call_id: string): responses.Item => ({
    type: "function_call",
    call_id,
    name: "execute",
    arguments: "{}",
  });
  const items: responses.Item[] = [
    { role: "user", content: "hello" },
    { type: "reasoning", id: "r", summary: [] },
    call("call_0"),
    { type: "function_call_output", call_id: "call_0", output: "x" },
    { role: "assistant", content: "two" },
    call("call_0"),
    call("call_0"),
  ];
  const calls = responses.callsOf(items);
  assert.deepEqual(calls[1], { id: "2.1", modelId: "call_0", tool: "execute", arguments: "{}" });
  const told = responses.results(calls, [withImage, bad]);
  assert.deepEqual(told, [
    {
      type: "function_call_output",
      call_id: "call_0",
      output: [
        { type: "input_text", text: "an image" },
        { type: "input_image", image_url: `data:image/png;base64,${data}` },
      ],
    },
    { type: "function_call_output", call_id: "call_0", output: "no such file" },
  ]);
  assert.deepEqual(ids(responses.callsOf([...items, told[0]!])), ["2.1"]);
  assert.deepEqual(responses.callsOf([...items, ...told, { role: "user", content: "go on" }]), []);
  assert.deepEqual(responses.callsOf([{ role: "user", content: "hello" }]), []);
});

test("Anthropic's messages", () => {
  const call = (id: string) => ({ type: "tool_use" as const, id, name: "execute", input: {} });
  const messages: anthropic.Message[] = [
    { role: "user", content: "hello" },
    { role: "assistant", content: "hello" },
    { role: "user", content: "go on" },
    { role: "assistant", content: [{ type: "text", text: "two" }, call("a"), call("b")] },
  ];
  const calls = anthropic.callsOf(messages);
  assert.deepEqual(calls[0], { id: "2.0", modelId: "a", tool: "execute", arguments: {} });
  const told = anthropic.results(calls, [withImage, gone]);
  assert.deepEqual(told, [
    {
      role: "user",
      content: [
        {
          type: "tool_result",
          tool_use_id: "a",
          is_error: false,
          content: [
            { type: "text", text: "an image" },
            { type: "image", source: { type: "base64", media_type: "image/png", data } },
          ],
        },
        { type: "tool_result", tool_use_id: "b", is_error: true, content: [{ type: "text", text: said }] },
      ],
    },
  ]);
  assert.deepEqual(anthropic.callsOf([...messages, ...told]), []);
  assert.deepEqual(anthropic.results([], []), []);
});

test("Gemini's contents", () => {
  const call = (id?: string) => ({ functionCall: { ...(id && { id }), name: "execute", args: { command: "a" } } });
  const contents = [
    { role: "user", parts: [{ text: "hello" }] },
    { role: "model", parts: [{ text: "two" }, call(), call(), call("x")] },
  ];
  const calls = gemini.callsOf(contents);
  assert.deepEqual(calls[1], { id: "1.1", modelId: "", tool: "execute", arguments: { command: "a" } });
  const inlineData = { mimeType: "image/png", data };
  const told = gemini.results(calls, [good, withImage, bad]);
  assert.deepEqual(told, [
    {
      role: "user",
      parts: [
        { functionResponse: { name: "execute", response: { output: text } } },
        { functionResponse: { name: "execute", response: { output: "an image" }, parts: [{ inlineData }] } },
        { functionResponse: { id: "x", name: "execute", response: { error: "no such file" } } },
      ],
    },
  ]);
  const beside = gemini.results(calls.slice(1, 2), [withImage], { imagesBeside: true });
  const functionResponse = { name: "execute", response: { output: "an image" } };
  assert.deepEqual(beside, [{ role: "user", parts: [{ functionResponse }, { inlineData }] }]);
  assert.deepEqual(ids(gemini.callsOf([...contents, ...beside])), ["1.1", "1.2"]);
  assert.deepEqual(gemini.callsOf([...contents, ...told]), []);
});

test("Converse", () => {
  const call = (toolUseId: string) => ({ toolUse: { toolUseId, name: "execute", input: { command: "a" } } });
  const messages: Parameters<typeof bedrock.callsOf>[0] = [
    { role: "user", content: [{ text: "hello" }] },
    { role: "assistant", content: [{ text: "two" }, call("a"), call("b")] },
  ];
  const calls = bedrock.callsOf(messages);
  assert.deepEqual(calls[1], { id: "1.1", modelId: "b", tool: "execute", arguments: { command: "a" } });
  const told = bedrock.results(calls, [withImage, bad]);
  const image = { format: "png", source: { bytes: Buffer.from("image") } };
  assert.deepEqual(told, [
    {
      role: "user",
      content: [
        { toolResult: { toolUseId: "a", status: "success", content: [{ text: "an image" }, { image }] } },
        { toolResult: { toolUseId: "b", status: "error", content: [{ text: "no such file" }] } },
      ],
    },
  ]);
  assert.deepEqual(bedrock.callsOf([...messages, ...told]), []);
  assert.deepEqual(JSON.parse(JSON.stringify(told), bedrock.revive), told);
});

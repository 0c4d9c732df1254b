// The adapters for frameworks, with the frameworks. The ids of the model's calls repeat in each turn.

import assert from "node:assert/strict";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import test, { type TestContext } from "node:test";

import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { HumanMessage } from "@langchain/core/messages";
import { GraphInterrupt, MemorySaver } from "@langchain/langgraph";
import { ChatOpenAI } from "@langchain/openai";
import { Agent, OpenAIChatCompletionsModel, Runner, setTracingDisabled } from "@openai/agents";
import { generateText, type ModelMessage, stepCountIs, streamText } from "ai";
import { createAgent } from "langchain";
import OpenAI from "openai";
import { tools as aiSdk } from "toolhost-client/ai-sdk";
import { tools as langchain } from "toolhost-client/langchain";
import { tools as openaiAgents } from "toolhost-client/openai-agents";

import { model, Server, skip, until } from "./world.js";

const PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const execute = (as: string, id: string, command: string, options = {}) => ({
  as,
  id,
  tool: "execute",
  arguments: { command, ...options },
});
const TURNS = [
  { calls: [execute("a", "call_0", "echo a | tee -a log"), execute("b", "call_1", "echo b | tee -a log")] },
  {
    calls: [
      execute("c", "call_0", "wc -l < log"),
      { as: "none", id: "call_1", tool: "read_file", arguments: { path: "none" } },
    ],
  },
  { text: "{a.output}{b.output}{c.output}{none}" },
];
const EXPECTED = /^a\nb\n2\n.*none/;

/** Starts a server and the model. */
async function start(t: TestContext, turns: unknown[] = TURNS) {
  const server = await Server.start(t);
  const url = await model(t, turns);
  writeFileSync(join(server.workspace, "pixel.png"), Buffer.from(PIXEL, "base64"));
  return { server, url };
}

test("the AI SDK", { skip }, async (t) => {
  const { server, url } = await start(t);
  const scripted = createOpenAICompatible({ name: "scripted", baseURL: `${url}/v1`, apiKey: "none" })("scripted");
  const tools = await aiSdk(server.chat("c"));
  const stopWhen = stepCountIs(10);
  const messages: ModelMessage[] = [{ role: "user", content: "Go." }];
  const { text } = await generateText({ model: scripted, tools, messages, stopWhen });
  assert.match(text, EXPECTED);
  // The same calls again, as a stream: each gets its saved reply.
  const again = streamText({ model: scripted, tools, messages, stopWhen });
  assert.equal(await again.text, text);
  assert.equal(server.read("log")?.length, 4);
  const outputs = (await generateText({ model: scripted, tools, messages, stopWhen })).steps[1]!.response.messages;
  assert.match(JSON.stringify(outputs), /"type":"error-text"/);
});

test("the AI SDK cancels a call", { skip }, async (t) => {
  const { server, url } = await start(t, [
    { calls: [execute("a", "call_0", "echo $$ > pid; exec sleep 1000", { timeout: "1h" })] },
    { text: "never" },
  ]);
  const scripted = createOpenAICompatible({ name: "scripted", baseURL: `${url}/v1`, apiKey: "none" })("scripted");
  const chat = server.chat("c");
  const stop = new AbortController();
  const tools = await aiSdk(chat);
  const generating = generateText({
    model: scripted,
    tools,
    prompt: "Go.",
    abortSignal: stop.signal,
    stopWhen: stepCountIs(10),
  });
  await until(() => server.read("pid")?.endsWith("\n"));
  stop.abort();
  await assert.rejects(generating);
  await until(async () => (await chat.get("1.call_0")).state === "cancelled");
});

test("LangChain", { skip }, async (t) => {
  const { server, url } = await start(t);
  const scripted = new ChatOpenAI({ model: "scripted", apiKey: "none", configuration: { baseURL: `${url}/v1` } });
  const tools = await langchain(server.chat("c"));
  const agent = createAgent({ model: scripted, tools });
  for (const _ of ["first", "again"]) {
    const { messages } = await agent.invoke({ messages: [new HumanMessage("Go.")] });
    assert.match(String(messages.at(-1)?.content), EXPECTED);
    assert.equal(
      messages.filter((message) => message.type === "tool" && "status" in message && message.status === "error").length,
      1,
    );
  }
  assert.equal(server.read("log")?.length, 4);
});

test("LangGraph resumes from a checkpoint, and no call runs twice", { skip }, async (t) => {
  const { server, url } = await start(t);
  const scripted = new ChatOpenAI({ model: "scripted", apiKey: "none", configuration: { baseURL: `${url}/v1` } });
  const checkpointer = new MemorySaver();
  const configuration = { configurable: { thread_id: "1" } };
  // The first graph is interrupted after its calls ran, and before their results are stored.
  const interrupted = await langchain(server.chat("c"));
  for (const tool of interrupted) {
    const { func } = tool;
    tool.func = async (...given) => {
      await func.apply(tool, given);
      throw new GraphInterrupt([]);
    };
  }
  const first = await createAgent({ model: scripted, tools: interrupted, checkpointer }).invoke(
    { messages: [new HumanMessage("Go.")] },
    configuration,
  );
  assert.deepEqual(
    first.messages.map(({ type }) => type),
    ["human", "ai"],
  );
  assert.equal(server.read("log")?.length, 4);
  const agent = createAgent({ model: scripted, tools: await langchain(server.chat("c")), checkpointer });
  const { messages } = await agent.invoke(null as never, configuration);
  assert.match(String(messages.at(-1)?.content), EXPECTED);
  assert.equal(server.read("log")?.length, 4);
});

test("the OpenAI Agents SDK", { skip }, async (t) => {
  setTracingDisabled(true);
  const turns = structuredClone(TURNS);
  // The SDK does not tell the turn: the ids of one run are to be unique.
  for (const [turn, { calls }] of turns.entries()) for (const call of calls ?? []) call.id += `_${turn}`;
  const { server } = await start(t, turns);
  const scripted = new OpenAIChatCompletionsModel(new OpenAI(), "scripted");
  for (const run of ["1", "1", "2"]) {
    if (run === "2") rmSync(join(server.workspace, "log"));
    const agent = new Agent({
      name: "agent",
      model: scripted,
      tools: await openaiAgents(server.chat("c"), { prefix: run }),
    });
    const { finalOutput } = await new Runner().run(agent, "Go.");
    assert.match(String(finalOutput), EXPECTED);
    assert.equal(server.read("log")?.length, 4);
  }
});

test("images reach the model through frameworks", { skip }, async (t) => {
  const turns = [
    { calls: [{ as: "a", id: "call_0", tool: "read_file", arguments: { path: "pixel.png" } }] },
    { text: "{a:images}" },
  ];
  const { server, url } = await start(t, turns);
  const image = `['image/png of ${Buffer.from(PIXEL, "base64").length} bytes']`;
  const agent = new Agent({ name: "agent", model: "scripted", tools: await openaiAgents(server.chat("agents")) });
  const { finalOutput } = await new Runner().run(agent, "Go.");
  assert.equal(finalOutput, image);
  const scripted = new ChatOpenAI({ model: "scripted", apiKey: "none", configuration: { baseURL: `${url}/v1` } });
  const chain = createAgent({ model: scripted, tools: await langchain(server.chat("langchain")) });
  const { messages } = await chain.invoke({ messages: [new HumanMessage("Go.")] });
  // The chat model of OpenAI in LangChain sends no images of tools, but others do.
  assert.match(
    JSON.stringify(messages.at(-2)?.content),
    /"type":"image_url","image_url":\{"url":"data:image\/png;base64,/,
  );
});

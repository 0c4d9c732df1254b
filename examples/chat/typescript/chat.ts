// A chat with tools: the model asks for calls, Toolhost runs them, and so on until the model has an answer.
//
// Keys and addresses are in the variables that the SDKs read (OPENAI_API_KEY, OPENAI_BASE_URL, ANTHROPIC_API_KEY,
// ANTHROPIC_BASE_URL) and in TOOLHOST_URL and TOOLHOST_TOKEN. Ctrl-C cancels the call that runs.

import { randomUUID } from "node:crypto";
import { parseArgs } from "node:util";

import { begin, type Call, type Result } from "./providers.js";
import { type Dialect, Refused, textOf, Toolhost } from "./toolhost.js";

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    provider: { type: "string", default: "openai" },
    model: { type: "string", default: "scripted" },
    // The scope of processes, and of call ids.
    chat: { type: "string", default: `chat-${randomUUID()}` },
  },
});
const { TOOLHOST_URL = "http://127.0.0.1:7411", TOOLHOST_TOKEN } = process.env;
const [prompt] = positionals;
if (!prompt || !TOOLHOST_TOKEN) {
  console.error("usage: TOOLHOST_TOKEN=… node dist/chat.js [--provider openai|anthropic] [--model NAME] PROMPT");
  process.exit(2);
}

const toolhost = new Toolhost(TOOLHOST_URL, TOOLHOST_TOKEN, options.chat);
const chat = await begin(options.provider as Dialect, options.model, toolhost);
const interrupted = new AbortController();
process.once("SIGINT", () => interrupted.abort());

chat.user(prompt);
for (let turn = 1; ; turn++) {
  const calls = await chat.ask((text) => process.stdout.write(text));
  process.stdout.write("\n");
  if (calls.length === 0) break;
  // A chat server stores the turn and the id of the chat here, before anything runs: after a restart it asks for the same calls
  // again, and none runs twice.
  // Calls of one turn do not depend on each other. The ids of models are no ids: some give each turn a `call_0`, some give one to
  // two calls of a turn.
  const results = await Promise.all(calls.map((call, index) => run(`${turn}.${index}`, call)));
  if (interrupted.signal.aborted) process.exit(130);
  chat.results(results);
}

async function run(id: string, call: Call): Promise<Result> {
  console.error(`[${call.tool} ${JSON.stringify(call.arguments)}]`);
  try {
    const reply = await toolhost.call(id, call.tool, call.arguments, interrupted.signal);
    return { call, text: textOf(reply), isError: reply.is_error };
  } catch (error) {
    if (interrupted.signal.aborted) {
      // Without this the call would go on: a client that goes away only detaches.
      await toolhost.cancel(id);
      console.error(`cancelled ${id}`);
      return { call, text: "cancelled", isError: true };
    }
    // The provider wants a result for each call, and the model can make a better one.
    if (error instanceof Refused) return { call, text: error.message, isError: true };
    throw error;
  }
}

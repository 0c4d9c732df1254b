// A chat with tools: the model asks for calls, Toolhost runs them, and so on until the model has an answer.
//
// Each provider has a loop of its own: anthropic.ts, openai.ts, openai-responses.ts, gemini.ts and bedrock.ts. Keys and
// addresses are in the variables that the SDKs and the client read. Ctrl-C cancels the calls that run.

import { randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { readFile, rename, writeFile } from "node:fs/promises";
import { parseArgs } from "node:util";

import { type Call, type Chat, Toolhost } from "toolhost-client";

/** What a loop needs besides its messages. */
export interface Settings {
  model: string;
  /** Shows a text of the model to the user. */
  print(text: string): void;
  /** Stores the messages. A loop that is given stored messages goes on where it was. */
  store(messages: unknown[]): Promise<void>;
  signal: AbortSignal;
}

/** A module with the loop of a provider. */
interface Provider {
  converse(chat: Chat, messages: unknown[], settings: Settings): Promise<void>;
  callsOf(messages: unknown[]): Call[];
  /** Reads stored messages that are more than JSON. */
  revive?(key: string, value: unknown): unknown;
}

const PROVIDERS = ["anthropic", "openai", "openai-responses", "gemini", "bedrock"];

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    provider: { type: "string", default: "openai" },
    model: { type: "string", default: "scripted" },
    // The scope of processes, and of the ids of calls.
    chat: { type: "string", default: `chat-${randomUUID()}` },
    // The file of the messages. With it, a chat that was interrupted goes on without a prompt.
    messages: { type: "string" },
  },
});
const { provider: name, messages: path } = options;
const [prompt] = positionals;
const isStored = path !== undefined && existsSync(path);
if (!PROVIDERS.includes(name) || !(prompt || isStored)) {
  console.error(
    `usage: node dist/chat.js [--provider ${PROVIDERS.join("|")}] [--model NAME] [--chat ID] [--messages FILE] PROMPT`,
  );
  process.exit(2);
}

const provider: Provider = await import(`./${name}.js`);
const messages: unknown[] = isStored ? JSON.parse(await readFile(path, "utf8"), provider.revive) : [];
if (prompt) messages.push(said(prompt));

const interrupted = new AbortController();
let cancelled: Call[] = [];
process.once("SIGINT", () => {
  cancelled = provider.callsOf(messages);
  interrupted.abort();
});
const store = async (messages: unknown[]) => {
  if (!path) return;
  await writeFile(`${path}.new`, JSON.stringify(messages));
  await rename(`${path}.new`, path);
};
const print = (text: string) => void process.stdout.write(text);
try {
  await provider.converse(new Toolhost().chat(options.chat), messages, {
    model: options.model,
    print,
    store,
    signal: interrupted.signal,
  });
} catch (error) {
  // The SDKs throw if they are interrupted.
  if (!interrupted.signal.aborted) throw error;
}
for (const { id } of cancelled) console.error(`cancelled ${id}`);
if (interrupted.signal.aborted) process.exit(130);

/** Returns the user's message. */
function said(text: string): unknown {
  if (name === "gemini") return { role: "user", parts: [{ text }] };
  return { role: "user", content: name === "bedrock" ? [{ text }] : text };
}

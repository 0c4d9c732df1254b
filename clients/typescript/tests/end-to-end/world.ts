// A Toolhost, the scripted model, and a proxy, for the time of a test. TOOLHOST_PROGRAM is the program.

import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";

import { type Chat, Toolhost } from "toolhost-client";

/** The root of the repository, or of a copy with the same directories. */
export const root = fileURLToPath(new URL("../../../../../", import.meta.url));
export const TOKEN = "a-token-for-tests-only";

const program = process.env["TOOLHOST_PROGRAM"];
/** The reason to skip the tests. */
export const skip = program ? false : "TOOLHOST_PROGRAM does not name the program";

/** The providers, and the modules with their loops. */
export const PROVIDERS = ["anthropic", "openai", "openai-responses", "gemini", "bedrock"] as const;

/** Waits until a condition holds. */
export async function until<T>(condition: () => T | undefined | false | Promise<T | undefined | false>): Promise<T> {
  for (;;) {
    const found = await condition();
    if (found !== undefined && found !== false) return found;
    await sleep(20);
  }
}

/** A server that can be killed and started again at the same address. */
export class Server {
  readonly directory: string;
  readonly workspace: string;
  url = "http://127.0.0.1:0";
  private child: ChildProcess | undefined;

  private constructor(private readonly options: string[]) {
    this.directory = mkdtempSync(join(tmpdir(), "toolhost-client-"));
    this.workspace = mkdtempSync(join(tmpdir(), "toolhost-workspace-"));
  }

  /** Starts a server with a configuration, and with files beside it. */
  static async start(
    test: TestContext,
    options: string[] = [],
    configuration?: string,
    files: Record<string, string> = {},
  ): Promise<Server> {
    const server = new Server(options);
    test.after(async () => {
      await server.kill();
      for (const directory of [server.directory, server.workspace]) rmSync(directory, { recursive: true, force: true });
    });
    for (const [name, content] of Object.entries(files)) writeFileSync(server.file(name), content, { mode: 0o600 });
    if (configuration !== undefined) {
      writeFileSync(server.file("toolhost.toml"), configuration, { mode: 0o600 });
      server.options.push("--config", server.file("toolhost.toml"));
    }
    await server.restart();
    return server;
  }

  async restart(): Promise<void> {
    const at = ["--workspace", this.workspace, "--state-dir", this.file("state")];
    const listen = this.url.slice("http://".length);
    const env = { ...process.env, TOOLHOST_TOKEN: TOKEN };
    const child = spawn(program!, [...at, "serve", "--listen", listen, ...this.options], {
      env,
      stdio: ["ignore", "ignore", "pipe"],
    });
    this.child = child;
    this.url = await listening(child.stderr!, child);
  }

  async kill(): Promise<void> {
    const child = this.child;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const ended = new Promise((resolve) => child.once("exit", resolve));
    child.kill("SIGKILL");
    await ended;
  }

  file(name: string): string {
    return join(this.directory, name);
  }

  /** Returns the text of a file of the workspace. */
  read(name: string): string | undefined {
    const path = join(this.workspace, name);
    return existsSync(path) ? readFileSync(path, "utf8") : undefined;
  }

  chat(id: string, url = this.url): Chat {
    return new Toolhost(url, TOKEN).chat(id);
  }
}

/** Returns the address that a program says it listens on, and then lets it write on. */
async function listening(output: NodeJS.ReadableStream, child: ChildProcess): Promise<string> {
  const said: string[] = [];
  const url = await new Promise<string>((found, failed) => {
    createInterface({ input: output }).on("line", (line) => {
      said.push(line);
      const match = /^listening on (http:.*)$/.exec(line);
      if (match) found(match[1]!);
    });
    child.once("exit", () => failed(new Error(`the program ended: ${said.join("\n")}`)));
  });
  return url;
}

/** Starts the scripted model, and names it in the variables that the SDKs read. */
export async function model(test: TestContext, turns: unknown[]): Promise<string> {
  const directory = mkdtempSync(join(tmpdir(), "toolhost-model-"));
  const script = join(directory, "script.json");
  writeFileSync(script, JSON.stringify({ turns }));
  const child = spawn("python3", [join(root, "examples/chat/model"), script, "--port", "0"], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  test.after(() => {
    child.kill();
    rmSync(directory, { recursive: true });
  });
  const url = await listening(child.stdout, child);
  Object.assign(process.env, {
    OPENAI_API_KEY: "none",
    OPENAI_BASE_URL: `${url}/v1`,
    ANTHROPIC_API_KEY: "none",
    ANTHROPIC_BASE_URL: url,
    GEMINI_API_KEY: "none",
    GOOGLE_GEMINI_BASE_URL: url,
    AWS_ENDPOINT_URL_BEDROCK_RUNTIME: url,
    AWS_REGION: "us-east-1",
    AWS_ACCESS_KEY_ID: "none",
    AWS_SECRET_ACCESS_KEY: "none",
  });
  return url;
}

/** What the example needs of a provider, as it is in examples/chat/typescript. */
export interface Loop {
  converse(chat: Chat, messages: unknown[], settings: object): Promise<void>;
}

/** Runs the loop of the example with a first message, and returns the text and the messages. */
export async function converse(provider: string, chat: Chat, signal = new AbortController().signal) {
  const loop: Loop = await import(join(root, `examples/chat/typescript/dist/${provider}.js`));
  const first =
    provider === "gemini"
      ? { parts: [{ text: "Go." }] }
      : { content: provider === "bedrock" ? [{ text: "Go." }] : "Go." };
  const messages: unknown[] = [{ role: "user", ...first }];
  let text = "";
  const print = (more: string) => void (text += more);
  let stored = "";
  const store = async (messages: unknown[]) => void (stored = JSON.stringify(messages));
  await loop.converse(chat, messages, { model: "scripted", print, store, signal });
  assert.equal(stored, JSON.stringify(messages));
  return { text, messages };
}

// A chat: its tools, calls, processes, notices, links and ports.

import { randomUUID } from "node:crypto";

import { type EventOptions, events } from "./events.js";
import { Files } from "./files.js";
import type { Connection, Outgoing } from "./http.js";
import type * as types from "./types.js";

/** The formats of lists of tools. */
export type Format = "json" | "openai" | "openai-responses" | "anthropic" | "gemini" | "bedrock" | "mcp";

export interface ToolsOptions {
  /** Fits the schemas to OpenAI's strict mode. Models then write nulls, which are to be passed on. */
  strict?: boolean;
  signal?: AbortSignal | undefined;
}

export interface CallOptions {
  /** The workspace of the chat, if the call is to bind the chat to one. */
  workspace?: string | undefined;
  /** Texts for plugins, such as `{ locale: "de" }`. */
  attributes?: Record<string, string> | undefined;
  /** Stops waiting. The call runs on: `cancel` ends it. */
  signal?: AbortSignal | undefined;
}

export interface CallFilter {
  state?: types.ListedCall["state"];
  success?: boolean;
  tool?: string;
  /** When the call began, in milliseconds since 1970. */
  since?: number;
  until?: number;
  text?: string;
}

export type Signal = "terminate" | "interrupt" | "kill" | "hangup" | "quit" | "user1" | "user2";

/** What is done to the standard input of a process, in this order: size, text, base64, close. */
export interface Input {
  size?: { rows: number; columns: number };
  text?: string;
  base64?: string;
  close?: boolean;
  /** Names the input: a repeat with the same id does nothing. */
  id?: string;
}

/** One conversation. Its id is the id of the conversation in the chat server. */
export class Chat {
  readonly files: Files;
  private readonly base: string;

  constructor(
    private readonly connection: Connection,
    readonly id: string,
  ) {
    this.base = `/v1/chats/${encodeURIComponent(id)}`;
    this.files = new Files(connection, this.base);
  }

  /** Returns the tools in a format, to be passed on to the model. The adapters have typed functions for it. */
  async tools<T>(format: Format = "json", options: ToolsOptions = {}): Promise<T[]> {
    const { strict, signal } = options;
    const query = { format, strict, chat: this.id };
    const tools = await this.connection.json<T[] | { tools: T[] }>({ method: "GET", path: "/v1/tools", query, signal });
    return Array.isArray(tools) ? tools : tools.tools;
  }

  /**
   * Runs a call once, however often it is asked for, and returns its reply. The id must be unique in the chat, and stay
   * the same after a restart. The arguments may be the text that a model wrote.
   */
  call(id: string, tool: string, args: unknown, options: CallOptions = {}): Promise<types.Reply> {
    const { workspace, attributes, signal } = options;
    return this.request("PUT", this.pathOf(id), { json: { tool, arguments: args, workspace, attributes }, signal });
  }

  /**
   * Ends a call with all that it started, and returns its reply. A call that has not arrived never runs, and has no
   * reply.
   */
  cancel(id: string, signal?: AbortSignal): Promise<types.Reply | undefined> {
    return this.request("DELETE", this.pathOf(id), { signal });
  }

  /** Returns the reply or the state of a call. */
  get(id: string): Promise<types.Reply | types.RunningCall | types.TombstoneCall> {
    return this.request("GET", this.pathOf(id));
  }

  /** Yields the calls of the chat, newest first. */
  async *calls(filter: CallFilter = {}): AsyncGenerator<types.ListedCall, void> {
    for (let after: string | undefined; ;) {
      const query = { ...filter, after, limit: 500 };
      const page = await this.request<{ calls: types.ListedCall[]; next?: string }>("GET", "/calls", { query });
      yield* page.calls;
      if (page.next === undefined) return;
      after = page.next;
    }
  }

  /** Yields the events of the chat, and resumes by itself after a lost connection. */
  events(options: EventOptions = {}): AsyncGenerator<types.ChatEvent, void> {
    return events(this.connection, `${this.base}/events`, options);
  }

  /** Returns the processes: running, lingering, then ended ones, each newest first. */
  async processes(options: { running?: boolean; limit?: number } = {}): Promise<types.Process[]> {
    return (await this.request<{ processes: types.Process[] }>("GET", "/processes", { query: { ...options } }))
      .processes;
  }

  process(id: string): Promise<types.ProcessDetails> {
    return this.request("GET", `/processes/${encodeURIComponent(id)}`);
  }

  /** Returns output of a process from the cursor `since` on, at most `max` bytes. */
  output(process: string, options: { since?: number; max?: number } = {}): Promise<types.Output> {
    return this.request("GET", `/processes/${encodeURIComponent(process)}/output`, { query: { ...options } });
  }

  /**
   * Sends a signal to everything that a process started. After `terminate`, what remains is killed when the grace is
   * over.
   */
  signal(process: string, signal: Signal, grace_ms?: number): Promise<types.ProcessStatus & { id: string }> {
    const json = { signal, grace_ms };
    return this.request("POST", `/processes/${encodeURIComponent(process)}/signal`, { json, idempotent: false });
  }

  /** Writes to the standard input of a process. */
  input(process: string, input: Input): Promise<types.ProcessStatus & { id: string }> {
    const json = { id: randomUUID(), ...input };
    return this.request("POST", `/processes/${encodeURIComponent(process)}/input`, { json });
  }

  /** Asks to be told once that a process has ended or that its output matches, and returns the notice. */
  notify(
    process: string,
    on: { on: "exit" } | { on: "output"; pattern: string; since?: number },
  ): Promise<types.Notice> {
    const path = `/processes/${encodeURIComponent(process)}/notices`;
    return this.request("POST", path, { json: on, idempotent: false });
  }

  /** Returns the notices for which the chat waits, and those of the last day. */
  async notices(): Promise<types.Notice[]> {
    return (await this.request<{ notices: types.Notice[] }>("GET", "/notices")).notices;
  }

  /** Forgets a notice. */
  forget(notice: string): Promise<void> {
    return this.request("DELETE", `/notices/${encodeURIComponent(notice)}`, { idempotent: false });
  }

  /** Makes a link to a file, for a person without a token. The lifetime is in seconds, by default a day. */
  link(path: string, lifetime?: number): Promise<types.Link> {
    return this.request("POST", "/links", { json: { path, lifetime_secs: lifetime }, idempotent: false });
  }

  /**
   * Returns the ports on which commands of the chat listen. Waits up to `wait` seconds (at most 60) for the first one.
   */
  async ports(wait?: number): Promise<types.Port[]> {
    const query = { wait_seconds: wait };
    const readTimeout = 60_000 + 1000 * (wait ?? 0);
    return (await this.request<{ ports: types.Port[] }>("GET", "/ports", { query, readTimeout })).ports;
  }

  /** Binds the chat to a workspace before its first call. */
  bind(workspace: string): Promise<unknown> {
    return this.request("PUT", "", { json: { workspace } });
  }

  /**
   * Ends the chat with its calls and background processes, and returns the processes. First stop the calls: a later one
   * runs.
   */
  async end(): Promise<{ id: string; command: string }[]> {
    return (await this.request<{ ended: { id: string; command: string }[] }>("DELETE", "")).ended;
  }

  private pathOf(call: string): string {
    return `/calls/${encodeURIComponent(call)}`;
  }

  private request<T>(
    method: Outgoing["method"],
    path: string,
    options: Omit<Outgoing, "method" | "path"> = {},
  ): Promise<T> {
    return this.connection.json<T>({ method, path: this.base + path, ...options });
  }
}

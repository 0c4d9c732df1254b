// Types of `toolhost/testing`.

import type { PIPE, Screen, State, TerminalSize } from "./processes.js";

/** What a call sees of the host, and what it told the host. Times are in seconds. */
export interface Surroundings {
  chat: string;
  workspaceRoot: string;
  /** How long the call may take in all. */
  remaining: number;
  /** The virtual clock: the time since the call began, which passes only while a fake waits. */
  now: number;
  cancelled: boolean;
  /** When the caller cancels the call. */
  cancelledAfter?: number;
  attributes: Record<string, string>;
  settings: Record<string, string>;
  secrets: Record<string, string>;
  /** A line for each message: `warn: …`. */
  logged: string[];
  /** Done, total and message of each report. */
  progress: [number, number | undefined, string | undefined][];
  processes?: FakeProcesses;
  files?: FakeFiles;
  http?: FakeHttp;
}

/** Runs a function with these surroundings, and passes them to it. */
export declare function withHost<T>(fields: Partial<Surroundings>, run: (host: Surroundings) => T): T;
/** Calls a tool as the host does, from the text of its arguments. The promise is there only for an asynchronous tool. */
export declare function replyOf(name: string, args?: object | string): any;
/** Calls a tool as the host does, and returns the JSON value of its reply, or its texts if it has none. */
export declare function call(name: string, args?: object | string): any;
/**
 * Runs each case of a file, and returns how many there are. The cases have the surroundings of `withHost`, with `fields` in their place.
 * Throws with every case that differs.
 */
export declare function runCases(path: string | { readonly href: string }, fields?: Partial<Surroundings>): Promise<number>;

/** A fake process, and the script of what happens to it. */
export declare class FakeProcess {
  constructor(id?: string);
  after(seconds: number): this;
  prints(output: string | Uint8Array): this;
  exits(code: number): this;
  isEndedBy(signal: string, cause?: State["cause"]): this;
  lingers(code: number, ...survivors: { pid: number; command: string }[]): this;
  isLost(text: string): this;
  isDenied(...denials: string[]): this;
  /** Listens on this port from its start on. */
  listens(number: number, url?: string, expiresAt?: number): this;
  /** Shows this in its terminal, unless the plugin starts the process without one. The screen gets the terminal's size. */
  shows(screen: Partial<Screen>): this;
  /** Has an open standard input, unless the plugin starts the process without one: for a process of `FakeProcesses.has`. */
  takesInput(): this;
  /** Lets everything fail that is done to the standard input: `write`, `closeInput` and `resize`. */
  failsToTakeInput(reason: string, text: string): this;
  fails(reason: string, text: string): this;
}

/** Stands in for the host's processes, follows a script, and remembers what it was asked for. */
export declare class FakeProcesses {
  readonly started: {
    command: string;
    workdir?: string;
    env: Record<string, string>;
    background: boolean;
    stdin?: Uint8Array | typeof PIPE | TerminalSize;
    without: string[];
  }[];
  readonly signals: [id: string, name: string][];
  /** The notices that were asked for: an id of a process, and the event. */
  readonly notices: [id: string, on: { pattern?: string; since?: number }][];
  /** What was done to the standard input of which process, also what failed. */
  readonly inputs: (
    | [id: string, what: "write", data: Uint8Array]
    | [id: string, what: "close"]
    | [id: string, what: "resize", rows: number, columns: number]
  )[];
  constructor(options?: { clamp?: number; inShell?: "bash" | "sh" });
  starts(process: FakeProcess): this;
  failsToStart(reason: string, text: string): this;
  has(process: FakeProcess, command: string): this;
}

/**
 * Stands in for the host's files: a tree in memory below the workspace. A search takes regular expressions of JavaScript, and looks at one
 * line at a time. It knows no ignore files and no encodings, and takes the name of a type for an extension, such as `js`. `find` finds no
 * directories, and all files were changed at one time.
 */
export declare class FakeFiles {
  constructor(files?: Record<string, string | Uint8Array>);
  fails(path: string, reason: string, text: string): this;
  text(path: string): string | undefined;
}

/**
 * Stands in for the network. A URL without any response is not granted; a request with another method than the responses of its URL ends
 * the test.
 */
export declare class FakeHttp {
  readonly requests: { method: string; url: string; headers: Record<string, string>; body: Uint8Array }[];
  responds(
    url: string,
    response?: { method?: string; status?: number; headers?: Record<string, string>; body?: string | Uint8Array; json?: unknown },
  ): this;
  fails(url: string, options?: { method?: string; text?: string }): this;
}

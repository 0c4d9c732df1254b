// Types of `toolhost/processes`. Times are in seconds, unless the name ends in Ms: then they are milliseconds since 1970.

/** What a command is to do without. */
export type Restriction = "write" | "network";
export type Signal = "interrupt" | "terminate" | "kill" | "hangup" | "quit" | "user1" | "user2";

export interface StartOptions {
  /** Absolute, or relative to the workspace directory, which is the default. */
  workdir?: string;
  /** Variables. Pass values here rather than as a part of the command. */
  env?: Record<string, string>;
  stdin?: string | Uint8Array;
  /** If the call is cancelled or fails, the host ends the process unless it is in the background. */
  background?: boolean;
  without?: readonly Restriction[];
}

/** Where a process stands. An ended shell has a code or the name of a signal, and a cause. */
export interface State {
  kind: "running" | "lingering" | "exited" | "lost";
  code?: number;
  signal?: string;
  cause?: "itself" | "signalled" | "output-limit" | "out-of-memory" | "shutdown" | "cancelled";
  text?: string;
}

export interface WaitOptions {
  /** The cursor from which `until` searches, and with which `output` compares. */
  since?: number;
  /** A regular expression that ends the wait when it matches the output. */
  until?: string;
  /** Whether any output past `since` ends the wait. */
  output?: boolean;
}

export interface Waited {
  wake: "ended" | "matched" | "output" | "timed-out" | "clamped" | "cancelled";
  state: State;
  total: number;
  matchEnd?: number;
}

/** State and bounded output: the first 32 KiB, and the last 32 KiB that are not in `head`. */
export interface Snapshot {
  state: State;
  total: number;
  head: Uint8Array;
  tail: Uint8Array;
  /** The output as text, with a line for what is left out, and with U+FFFD for what is not UTF-8. */
  text: string;
  survivors: { pid: number; command: string }[];
  denials: string[];
  saved: "none" | "complete" | "partial" | "failed";
}

export interface Info {
  id: string;
  command: string;
  workdir: string;
  background: boolean;
  state: State;
  startedMs: number;
  exitedMs?: number;
  lastOutputMs?: number;
  total: number;
}

export interface Process {
  readonly id: string;
  wait(timeout: number, options?: WaitOptions): Waited;
  info(): Info;
  snapshot(): Snapshot;
  read(since?: number, max?: number): { offset: number; data: Uint8Array; total: number; end: boolean };
  signal(name: Signal, grace?: number): State;
}

/** Returns the shell that runs commands. Throws `HostError`. */
export declare function shell(): "bash" | "sh";
/** Starts `bash -c command` or `sh -c command`, and returns a process that runs whether or not the plugin waits for it. Throws `HostError`. */
export declare function start(command: string, options?: StartOptions): Process;
/** Returns the process of this chat that has this id. */
export declare function open(id: string): Process;
/** Returns at most `max` processes of this chat (100), and how many there are in all. The running ones come first. */
export declare function listProcesses(options?: { runningOnly?: boolean; max?: number }): { processes: Info[]; total: number };
/** Runs a command to its end. Throws `Failed` after `timeout`, or if the call is cancelled, and then has the command ended. */
export declare function run(command: string, options?: StartOptions & { timeout?: number }): Snapshot;

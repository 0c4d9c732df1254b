// Types of `toolhost/processes`. Times are in seconds, unless the name ends in Ms: then they are milliseconds since 1970.

/** What a command is to do without. */
export type Restriction = "write" | "network";
export type Signal = "interrupt" | "terminate" | "kill" | "hangup" | "quit" | "user1" | "user2";

/** Asks for a standard input that stays open: the plugin writes to it until it calls `closeInput`. */
export declare const PIPE: unique symbol;

/** The size of a terminal, in characters. */
export interface TerminalSize {
  rows: number;
  columns: number;
}

export interface StartOptions {
  /** Absolute, or relative to the workspace directory, which is the default. */
  workdir?: string;
  /** Variables. Pass values here rather than as a part of the command. */
  env?: Record<string, string>;
  /**
   * The input of the command: a text or bytes and then the end, the bytes that the plugin writes later (`PIPE`), or the keys that it
   * types in a terminal of this size. Without it, the command reads nothing.
   */
  stdin?: string | Uint8Array | typeof PIPE | TerminalSize;
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

/** What a terminal shows. */
export interface Screen extends TerminalSize {
  /** The rows, without the spaces at their ends and the empty rows at the end. */
  text: string;
  /** The place of the cursor, from 1; absent if the cursor is hidden. */
  cursor?: { row: number; column: number };
  /** The title that a program gave the terminal; empty without one. */
  title: string;
  /** Whether the screen belongs to a program that uses all of it, such as an editor. */
  alternate: boolean;
  /** Whether that program expects `ESC O A` instead of `ESC [ A` for the arrow keys. */
  applicationKeys: boolean;
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
  /** Whether the standard input is open for `write`. */
  takesInput: boolean;
  /** Absent for a process without a terminal. */
  screen?: Screen;
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

/** A TCP port on which a process listens. */
export interface Port {
  number: number;
  /** The address at which a person opens what listens there, without a token; absent if the host shows none. */
  url?: string;
  /** The time from which on the address leads nowhere, in seconds since 1970. */
  expiresAt?: number;
}

export interface Process {
  readonly id: string;
  wait(timeout: number, options?: WaitOptions): Waited;
  info(): Info;
  snapshot(): Snapshot;
  read(since?: number, max?: number): { offset: number; data: Uint8Array; total: number; end: boolean };
  signal(name: Signal, grace?: number): State;
  /**
   * Writes at most 1 MiB to the standard input, which was started as `PIPE` or a terminal. In a terminal a line ends with `\r`, and
   * control characters act: `\x03` is Ctrl-C.
   */
  write(data: string | Uint8Array): State;
  /** Ends the standard input. In a terminal this types Ctrl-D. */
  closeInput(): State;
  /** Gives the terminal another size. */
  resize(rows: number, columns: number): State;
  /**
   * Has the chat told, after the call as well, when the process ends, or when its output from the cursor `since` on matches a regular
   * expression. Returns the id of the notice.
   */
  notify(on?: { pattern?: string; since?: number }): string;
  /** Returns the ports on which the command listens, ascending. Waits for the first one for this time, but no longer than it runs. */
  listening(timeout: number): Port[];
}

/** Returns the shell that runs commands. Throws `HostError`. */
export declare function shell(): "bash" | "sh";
/** Starts `bash -c command` or `sh -c command`, and returns a process that runs whether or not the plugin waits for it. Throws `HostError`. */
export declare function start(command: string, options?: StartOptions): Process;
/** Returns the process of this chat that has this id. */
export declare function open(id: string): Process;
/** Returns at most `max` processes of this chat (100), and how many there are in all. The running ones come first. */
export declare function listProcesses(options?: { runningOnly?: boolean; max?: number }): { processes: Info[]; total: number };
/** Waits until one of these processes, of which there are at most 64, has ended. Throws `HostError`. */
export declare function waitAny(
  processes: readonly Process[],
  timeout: number,
): { wake: "ended" | "timed-out" | "clamped" | "cancelled"; process?: Process };
/**
 * Runs a command to its end. Throws `Failed` after `timeout`, or if the call is cancelled, and then has the command ended. Give it no
 * `stdin: PIPE`: nothing is written to that pipe.
 */
export declare function run(command: string, options?: StartOptions & { timeout?: number }): Snapshot;

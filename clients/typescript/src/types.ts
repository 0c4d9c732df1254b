// Values of the API, with the names that they have there. `tests/schema.test.ts` compares them with `/openapi.json`.

/** One part of a reply. `data` is base64. */
export type Part =
  | { type: "text"; text: string }
  | { type: "json"; json: unknown }
  | { type: "image"; media_type: string; data: string }
  | { type: "audio"; media_type: string; data: string }
  | { type: "document"; uri: string; media_type?: string | null; data?: string | null };

export type ImagePart = Extract<Part, { type: "image" }>;

/** The outcome of a call. */
export interface Reply {
  id: string;
  tool: string;
  /**
   * `failed`: the host ended the call; `unknown`: the host or the workspace stopped meanwhile, and the call may have
   * run.
   */
  state: "finished" | "failed" | "cancelled" | "unknown";
  /** Whether the tool refused the call or could not do it. */
  is_error: boolean;
  content: Part[];
  /** The first part that is JSON. */
  structured?: unknown;
  error?: { kind: string; message: string };
  /** The ids of the processes that the call started. */
  processes: string[];
  duration_ms: number;
  queued_ms: number;
  guest_ms?: number;
}

/** A call that runs. */
export interface RunningCall {
  id: string;
  tool: string;
  state: "running";
  running_ms: number;
}

/** A call that was cancelled before it arrived. It never runs. */
export interface TombstoneCall {
  id: string;
  state: "cancelled";
  tombstone: true;
}

/** A call in a list. */
export interface ListedCall {
  chat: string;
  id: string;
  tool: string;
  state: "running" | "finished" | "failed" | "cancelled" | "unknown";
  success?: boolean | null;
  token?: string | null;
  began_at_unix_ms: number;
  ended_at_unix_ms?: number | null;
  duration_ms?: number | null;
  queued_ms?: number | null;
  guest_ms?: number | null;
  reply_bytes?: number | null;
}

/** How a process is, or how it ended. */
export interface ProcessStatus {
  status: "running" | "lingering" | "exited" | "lost";
  exit_code?: number | null;
  signal?: string | null;
  cause?: string | null;
  reason?: string | null;
}

/** A process of a chat. */
export interface Process extends ProcessStatus {
  id: string;
  call?: string | null;
  command: string;
  workdir: string;
  background: boolean;
  started_at_unix: number;
  exited_at_unix?: number | null;
  last_output_at_unix?: number | null;
  total_bytes: number;
}

/** A process with what outlives its shell, and its terminal. */
export interface ProcessDetails extends Process {
  survivors: { pid: number; command: string }[];
  saved: { status: "none" | "complete" | "partial" | "failed"; bytes?: number; reason?: string };
  takes_input: boolean;
  screen?: { rows: number; columns: number; text: string } | null;
}

/** A stretch of output: `text` if it is valid UTF-8, else `base64`. */
export interface Output {
  process: string;
  offset: number;
  length: number;
  text?: string | null;
  base64?: string | null;
  total_bytes: number;
  end: boolean;
}

/** Something that happens to a process, of which the chat is told once. */
export interface Notice {
  id: string;
  process: string;
  call?: string | null;
  command: string;
  on: "exit" | "output";
  pattern?: string | null;
  since?: number | null;
  asked_at_unix: number;
  delivery?: string | null;
  told?: (ProcessStatus & { event: string; at_unix: number; total_bytes: number; match_end?: number | null }) | null;
}

/** An entry of a directory. */
export interface FileEntry {
  name: string;
  kind: string;
  size?: number | null;
  modified_at_unix_ms: number;
}

/** A link to a file, for a person without a token. */
export interface Link {
  url: string;
  expires_at_unix: number;
  name: string;
  size: number;
  media_type: string;
}

/** A port on which a command of the chat listens. */
export interface Port {
  port: number;
  process: string;
  url?: string | null;
  expires_at_unix?: number | null;
}

/** The data of the events of a chat, by the names of the events. */
export interface EventData {
  call: { call: string; tool: string; state: "queued" | "running" | Reply["state"]; is_error?: boolean | null };
  progress: { call: string; done: number; total?: number | null; message?: string | null };
  process_started: { process: string; call?: string | null; command: string; workdir: string; background: boolean };
  process: ProcessStatus & { process: string; call?: string | null; total_bytes: number };
  output: { process: string; offset: number; length: number; text?: string | null; base64?: string | null };
  notice: Notice;
  gap: { process: string; offset: number; length: number };
  /** Earlier events are lost to this reader: look up the calls and processes that matter. */
  reset: { reason: "unknown_id" | "expired" | "behind" | "cut_off" };
  chat_ended: { chat: string };
}

/** An event of a chat. The `id` is for `after`. */
export type ChatEvent = {
  [Type in keyof EventData]: { type: Type; id: string; data: EventData[Type] };
}[keyof EventData];

/** Returns the reply as a model reads it. Images and audio are named only. */
export function textOf(reply: Pick<Reply, "content">): string {
  return reply.content.map(textOfPart).join("\n");
}

function textOfPart(part: Part): string {
  switch (part.type) {
    case "text":
      return part.text;
    case "json":
      return JSON.stringify(part.json);
    case "document":
      return `[${part.uri}]`;
    default:
      return `[${part.type}, ${part.media_type}]`;
  }
}

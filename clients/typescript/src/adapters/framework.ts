// What the adapters for frameworks share: the definitions of tools, and the ids of calls.

import type { CallOptions, Chat } from "../chat.js";
import { type Shown, outcome, shown } from "../loop.js";

export interface FrameworkOptions extends Omit<CallOptions, "signal"> {
  /**
   * Begins the ids of calls, for example with the id of the user's message. It separates runs whose ids of calls are
   * alike.
   */
  prefix?: string;
}

/** A tool in a form that every framework can take. */
export interface Definition {
  name: string;
  description: string;
  input_schema: Record<string, unknown>;
}

/** A call as a framework knows it. */
export interface FrameworkCall {
  /** The turn of the model, if the framework tells it. */
  turn?: number | undefined;
  /** The framework's id of the call. */
  id: string | undefined;
  tool: string;
  arguments: unknown;
  signal?: AbortSignal | undefined;
}

export function definitions(chat: Chat): Promise<Definition[]> {
  return chat.tools("anthropic");
}

/** Runs a call of a framework once. Its id is the prefix, the turn, and the framework's id. */
export async function runOnce(chat: Chat, call: FrameworkCall, options: FrameworkOptions): Promise<Shown> {
  if (!call.id) throw new TypeError(`the call of ${call.tool} has no id, so it could run twice`);
  const { prefix, ...rest } = options;
  const id = [prefix, call.turn, call.id]
    .filter((part) => part !== undefined)
    .map((part) => encodeURIComponent(part))
    .join(".");
  return shown(await outcome(chat, { ...call, id }, { ...rest, signal: call.signal }));
}

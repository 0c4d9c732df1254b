// The loop that the adapters share: the calls of a turn, their ids, and how each of them runs once.

import type { CallOptions, Chat } from "./chat.js";
import { Refused, Unanswered } from "./errors.js";
import { type ImagePart, type Reply, textOf } from "./types.js";

/** A call that a model asks for. */
export interface Call {
  /** The id for Toolhost: the turn and the place in it, such as `3.0`. The ids of models are not unique. */
  id: string;
  /** The id of the provider, for the result. */
  providerId: string;
  tool: string;
  /** What the model wrote: an object, or its text. */
  arguments: unknown;
}

/** The answer to a call: a problem document becomes an error for the model. */
export type Answer = Reply | Refused;

export interface TurnOptions {
  /** The number of the last turn of the model, if the messages do not begin with the first one. By default, turns are counted. */
  turn?: number;
}

export interface RunOptions extends TurnOptions, CallOptions {
  /** Cancels the calls. Their replies say so. */
  signal?: AbortSignal | undefined;
}

/** How long to wait for the end of a cancelled call, in milliseconds. */
const CANCELLING = 30_000;

/** Returns the calls of a turn that have no result yet. `answered` has the provider's ids of the results. */
export function unanswered(turn: number, asked: Omit<Call, "id">[], answered: string[]): Call[] {
  const results = [...answered];
  const calls = asked.map((call, place) => ({ id: `${turn}.${place}`, ...call }));
  return calls.filter(({ providerId }) => {
    const found = results.indexOf(providerId);
    if (found >= 0) results.splice(found, 1);
    return found < 0;
  });
}

/** Runs calls at the same time, each once, and returns their answers in the same order. */
export function answers(chat: Chat, calls: Call[], options: RunOptions = {}): Promise<Answer[]> {
  return Promise.all(calls.map((call) => answer(chat, call, options)));
}

/**
 * Runs a call once. A repeat gets the saved reply. If the signal aborts, the call is cancelled, and the answer is its reply. Throws
 * `Refused` only if the token is not valid, and `Unanswered` if no answer comes.
 */
export async function answer(chat: Chat, call: Omit<Call, "providerId">, options: RunOptions = {}): Promise<Answer> {
  const { signal, workspace, attributes } = options;
  const waiting = new AbortController();
  const cancel = async () => {
    const patience = AbortSignal.timeout(CANCELLING);
    await chat.cancel(call.id, patience).catch((cause: unknown) => {
      waiting.abort(new Unanswered(`the call ${call.id} is not known to be cancelled`, { cause }));
    });
  };
  if (signal?.aborted) await cancel();
  signal?.addEventListener("abort", cancel, { once: true });
  try {
    return await chat.call(call.id, call.tool, call.arguments, { workspace, attributes, signal: waiting.signal });
  } catch (error) {
    if (error instanceof Refused && error.status !== 401) return error;
    throw error;
  } finally {
    signal?.removeEventListener("abort", cancel);
  }
}

/** An answer as a result for the model. */
export interface Shown {
  /** Never empty: providers refuse results without content. */
  text: string;
  isError: boolean;
  images: ImagePart[];
}

/** Returns an answer as a result for the model. */
export function shown(answer: Answer): Shown {
  if (answer instanceof Refused) {
    const hint = answer.mayHaveRun ? " The call may have run: look at its effects before you repeat it." : "";
    return { text: answer.message + hint, isError: true, images: [] };
  }
  const images = answer.content.filter((part) => part.type === "image");
  const text = textOf({ content: answer.content.filter((part) => part.type !== "image") });
  return { text: text || "(no text)", isError: answer.is_error, images };
}

/** Returns an image as a data URL. */
export function dataUrl(image: ImagePart): string {
  return `data:${image.media_type};base64,${image.data}`;
}

// The loop that the adapters share: the calls of a turn, their ids, and how each of them runs once.

import type { CallOptions, Chat } from "./chat.js";
import { Refused, Unanswered } from "./errors.js";
import { type ImagePart, type Part, type Reply, textOf } from "./types.js";

/** A call that a model asks for. */
export interface Call {
  /** The id for Toolhost: the turn and the place in it, such as `3.0`. The ids of models are not unique. */
  id: string;
  /** The id of the provider, for the result. */
  modelId: string;
  tool: string;
  /** What the model wrote: an object, or its text. */
  arguments: unknown;
}

/** What became of a call. A problem is an error for the model. */
export type Outcome = Reply | Refused;

export interface TurnOptions {
  /**
   * Names the last turn of the model, if the messages do not begin with the first one. By default, turns are counted
   * from 1.
   */
  turn?: number | string;
}

export interface RunOptions extends TurnOptions, CallOptions {
  /** Cancels the calls. Their replies say so. */
  signal?: AbortSignal | undefined;
}

/** How long to wait for the end of a cancelled call, in milliseconds. */
const CANCELLING = 30_000;

/** The media types of images that every provider takes. Other images are named. */
const IMAGES = /^image\/(png|jpeg|gif|webp)$/;

/** Returns the calls of a turn that have no result yet. `answered` has the provider's ids of the results. */
export function unanswered(turn: number | string, asked: Omit<Call, "id">[], answered: string[]): Call[] {
  const results = [...answered];
  const calls = asked.map((call, place) => ({ id: `${turn}.${place}`, ...call }));
  return calls.filter(({ modelId }) => {
    const found = results.indexOf(modelId);
    if (found >= 0) results.splice(found, 1);
    return found < 0;
  });
}

/** Runs calls at the same time, each once, and returns their outcomes in the same order. */
export async function outcomes(chat: Chat, calls: Call[], options: RunOptions = {}): Promise<Outcome[]> {
  const all = await Promise.allSettled(calls.map((call) => outcome(chat, call, options)));
  return all.map((one) => {
    if (one.status === "rejected") throw one.reason;
    return one.value;
  });
}

/**
 * Makes the `run` of a provider: it runs the calls that have no result yet, each once, and returns the messages to
 * append. There are none if there are no such calls.
 */
export function runner<Message, Options extends TurnOptions>(
  callsOf: (messages: Message[], options?: Options) => Call[],
  results: (calls: Call[], outcomes: Outcome[], options?: Options) => Message[],
) {
  return async (chat: Chat, messages: Message[], options: RunOptions & Options = {} as Options): Promise<Message[]> => {
    const calls = callsOf(messages, options);
    return results(calls, await outcomes(chat, calls, options), options);
  };
}

/**
 * Runs a call once. A repeat gets the saved reply. If the signal aborts, the call is cancelled, and the outcome is its
 * reply. Throws `Refused` only if the token is not valid, and `Unanswered` if no answer comes.
 */
export async function outcome(chat: Chat, call: Omit<Call, "modelId">, options: RunOptions = {}): Promise<Outcome> {
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

/** An outcome as a result for the model. */
export interface Shown {
  /** Never empty: providers refuse results without content. */
  text: string;
  isError: boolean;
  images: ImagePart[];
}

/** Returns an outcome as a result for the model. */
export function shown(outcome: Outcome): Shown {
  if (outcome instanceof Refused) {
    const hint = outcome.mayHaveRun ? ". The call may have run: look at its effects before you repeat it." : "";
    return { text: outcome.message + hint, isError: true, images: [] };
  }
  // An error has no images, because Anthropic refuses that.
  const isShown = (part: Part) => part.type === "image" && IMAGES.test(part.media_type) && !outcome.is_error;
  const images = outcome.content.filter((part) => part.type === "image").filter(isShown);
  const text = textOf({ content: outcome.content.filter((part) => !isShown(part)) });
  return { text: text || "(no text)", isError: outcome.is_error, images };
}

/** Returns an image as a data URL. */
export function dataUrl(image: ImagePart): string {
  return `data:${image.media_type};base64,${image.data}`;
}

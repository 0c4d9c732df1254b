// Gemini's generateContent: functions over the contents that a chat server stores.

import type { Content, Part, Tool } from "@google/genai";

import type { Chat } from "../chat.js";
import { type Answer, type Call, type RunOptions, type TurnOptions, answers, shown, unanswered } from "../loop.js";

export interface ImageOptions {
  /** Whether images go to parts of the message beside the results, for models that take none in a result (before Gemini 3). */
  imagesBeside?: boolean;
}

/** Returns the tools for `config.tools` of `generateContent`. */
export function tools(chat: Chat): Promise<Tool[]> {
  return chat.tools("gemini");
}

/** Returns the calls of the last turn of the model that have no result yet. A call without an id is known by its name. */
export function callsOf(contents: Content[], options: TurnOptions = {}): Call[] {
  const turns = contents.filter((content) => content.role === "model");
  const last = turns.at(-1);
  if (!last) return [];
  const asked = (last.parts ?? []).flatMap(({ functionCall }) =>
    functionCall ? [{ providerId: functionCall.id ?? "", tool: functionCall.name ?? "", arguments: functionCall.args ?? {} }] : [],
  );
  const after = contents.slice(contents.lastIndexOf(last) + 1).flatMap((content) => content.parts ?? []);
  const answered = after.flatMap(({ functionResponse }) => (functionResponse ? [functionResponse] : []));
  const named = asked.map((call) => ({ ...call, providerId: call.providerId || call.tool }));
  const open = unanswered(options.turn ?? turns.length, named, answered.map(({ id, name }) => id || (name ?? "")));
  return open.map((call) => ({ ...call, providerId: asked[Number(call.id.split(".").at(-1))]!.providerId }));
}

/** Returns the content with the results of calls. */
export function results(calls: Call[], replies: Answer[], options: ImageOptions = {}): Content[] {
  if (calls.length === 0) return [];
  const beside: Part[] = [];
  const parts = calls.map(({ providerId, tool: name }, index): Part => {
    const { text, isError, images } = shown(replies[index]!);
    const inline = images.map(({ media_type: mimeType, data }) => ({ inlineData: { mimeType, data } }));
    if (options.imagesBeside) beside.push(...inline.splice(0));
    const response = isError ? { error: text } : { output: text };
    const functionResponse = { ...(providerId && { id: providerId }), name, response, ...(inline.length > 0 && { parts: inline }) };
    return { functionResponse };
  });
  return [{ role: "user", parts: [...parts, ...beside] }];
}

/** Runs the calls that have no result yet, each once, and returns the contents to append: none if there are no such calls. */
export async function run(chat: Chat, contents: Content[], options: RunOptions & ImageOptions = {}): Promise<Content[]> {
  const calls = callsOf(contents, options);
  return results(calls, await answers(chat, calls, options), options);
}

// Gemini's generateContent: functions over the contents that a chat server stores.

import type { Content, Part, Tool } from "@google/genai";

import type { Chat, ToolsOptions } from "../chat.js";
import { type Call, type Outcome, type TurnOptions, runner, shown, unanswered } from "../loop.js";

export interface ImageOptions {
  /**
   * Whether images go to parts of the message beside the results, for models that take none in a result (before Gemini
   * 3).
   */
  imagesBeside?: boolean;
}

/** Returns the tools for `config.tools` of `generateContent`. */
export function tools(chat: Chat, options?: ToolsOptions): Promise<Tool[]> {
  return chat.tools("gemini", options);
}

/**
 * Returns the calls of the last turn of the model that have no result yet. A call without an id is known by its name.
 */
export function callsOf(contents: Content[], options: TurnOptions & ImageOptions = {}): Call[] {
  const turns = contents.filter((content) => content.role === "model");
  const last = turns.at(-1);
  if (!last) return [];
  const asked = (last.parts ?? []).flatMap(({ functionCall }) =>
    functionCall
      ? [{ modelId: functionCall.id ?? "", tool: functionCall.name ?? "", arguments: functionCall.args ?? {} }]
      : [],
  );
  const after = contents.slice(contents.lastIndexOf(last) + 1).flatMap((content) => content.parts ?? []);
  const answered = after.flatMap(({ functionResponse }) => (functionResponse ? [functionResponse] : []));
  const named = asked.map((call) => ({ ...call, modelId: call.modelId || call.tool }));
  const open = unanswered(
    options.turn ?? turns.length,
    named,
    answered.map(({ id, name }) => id || (name ?? "")),
  );
  return open.map((call) => ({ ...call, modelId: asked[Number(call.id.split(".").at(-1))]!.modelId }));
}

/** Returns the content with the results of calls. */
export function results(calls: Call[], outcomes: Outcome[], options: TurnOptions & ImageOptions = {}): Content[] {
  if (calls.length === 0) return [];
  const beside: Part[] = [];
  const parts = calls.map(({ modelId, tool: name }, index): Part => {
    const { text, isError, images } = shown(outcomes[index]!);
    const inline = images.map(({ media_type: mimeType, data }) => ({ inlineData: { mimeType, data } }));
    if (options.imagesBeside) beside.push(...inline.splice(0));
    const response = isError ? { error: text } : { output: text };
    const functionResponse = {
      ...(modelId && { id: modelId }),
      name,
      response,
      ...(inline.length > 0 && { parts: inline }),
    };
    return { functionResponse };
  });
  return [{ role: "user", parts: [...parts, ...beside] }];
}

/**
 * Runs the calls that have no result yet, each once, and returns the messages to append: none if there are no such
 * calls.
 */
export const run = runner(callsOf, results);

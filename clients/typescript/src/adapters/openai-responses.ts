// OpenAI's responses: functions over the input items that a chat server stores.

import type { FunctionTool, ResponseInputItem } from "openai/resources/responses/responses";

import type { Chat, ToolsOptions } from "../chat.js";
import { type Call, type Outcome, type TurnOptions, dataUrl, runner, shown, unanswered } from "../loop.js";

export type Item = ResponseInputItem;

/** Returns the tools for `responses.create`. */
export function tools(chat: Chat, options?: ToolsOptions): Promise<FunctionTool[]> {
  return chat.tools("openai-responses", options);
}

/**
 * Returns the calls of the last turn of the model that have no result yet. A turn is a sequence of items of the model.
 */
export function callsOf(items: Item[], options: TurnOptions = {}): Call[] {
  const starts = items.flatMap((item, index) => (isOfModel(item) && !isOfModel(items[index - 1]) ? [index] : []));
  const last = items.slice(starts.at(-1) ?? items.length);
  const asked = last.flatMap((item) =>
    item.type === "function_call" ? [{ modelId: item.call_id, tool: item.name, arguments: item.arguments }] : [],
  );
  const answered = last.flatMap((item) => (item.type === "function_call_output" ? [item.call_id ?? ""] : []));
  return unanswered(options.turn ?? starts.length, asked, answered);
}

/**
 * Whether the model made the item. Its own items have a type, and end with its calls; messages may have a role only.
 */
function isOfModel(item: Item | undefined): boolean {
  if (!item) return false;
  if ("role" in item) return item.role === "assistant";
  return !item.type?.endsWith("_output") && item.type !== "item_reference";
}

/** Returns the items with the results of calls. */
export function results(calls: Call[], outcomes: Outcome[]): Item[] {
  return calls.map(({ modelId: call_id }, index) => {
    const { text, images } = shown(outcomes[index]!);
    const parts = images.map((image) => ({ type: "input_image" as const, image_url: dataUrl(image) }));
    const output = images.length === 0 ? text : [{ type: "input_text" as const, text }, ...parts];
    return { type: "function_call_output", call_id, output };
  });
}

/**
 * Runs the calls that have no result yet, each once, and returns the items to append: none if there are no such calls.
 */
export const run = runner(callsOf, results);

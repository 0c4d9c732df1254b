// Anthropic's messages: functions over the messages that a chat server stores.

import type { ImageBlockParam, MessageParam, Tool } from "@anthropic-ai/sdk/resources/messages";

import type { Chat, ToolsOptions } from "../chat.js";
import { type Call, type Outcome, type TurnOptions, runner, shown, unanswered } from "../loop.js";
import type { ImagePart } from "../types.js";

export type Message = MessageParam;

/** Returns the tools for `messages.create`. */
export function tools(chat: Chat, options?: ToolsOptions): Promise<Tool[]> {
  return chat.tools("anthropic", options);
}

/** Returns the calls of the last turn of the model that have no result yet. */
export function callsOf(messages: Message[], options: TurnOptions = {}): Call[] {
  const turns = messages.filter((message) => message.role === "assistant");
  const last = turns.at(-1);
  if (!last) return [];
  const parts = (message: Message) => (typeof message.content === "string" ? [] : message.content);
  const asked = parts(last).flatMap((part) =>
    part.type === "tool_use" ? [{ modelId: part.id, tool: part.name, arguments: part.input }] : [],
  );
  const after = messages.slice(messages.lastIndexOf(last) + 1).flatMap(parts);
  const answered = after.flatMap((part) => (part.type === "tool_result" ? [part.tool_use_id] : []));
  return unanswered(options.turn ?? turns.length, asked, answered);
}

/** Returns the message with the results of calls. */
export function results(calls: Call[], outcomes: Outcome[]): Message[] {
  if (calls.length === 0) return [];
  const content = calls.map(({ modelId: tool_use_id }, index) => {
    const { text, isError: is_error, images } = shown(outcomes[index]!);
    const content = [{ type: "text" as const, text }, ...images.map(image)];
    return { type: "tool_result" as const, tool_use_id, is_error, content };
  });
  return [{ role: "user", content }];
}

function image({ media_type, data }: ImagePart): ImageBlockParam {
  const source = { type: "base64", media_type, data } as Extract<ImageBlockParam["source"], { type: "base64" }>;
  return { type: "image", source };
}

/**
 * Runs the calls that have no result yet, each once, and returns the messages to append: none if there are no such
 * calls.
 */
export const run = runner(callsOf, results);

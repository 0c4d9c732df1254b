// Converse of Amazon Bedrock: functions over the messages that a chat server stores.

import type { ImageFormat, Message, Tool, ToolResultContentBlock } from "@aws-sdk/client-bedrock-runtime";

import type { Chat, ToolsOptions } from "../chat.js";
import { type Call, type Outcome, type TurnOptions, runner, shown, unanswered } from "../loop.js";

export { messageOf } from "./bedrock-stream.js";

/** Returns the tools for `toolConfig.tools` of Converse. */
export function tools(chat: Chat, options?: ToolsOptions): Promise<Tool[]> {
  return chat.tools("bedrock", options);
}

/** Returns the calls of the last turn of the model that have no result yet. */
export function callsOf(messages: Message[], options: TurnOptions = {}): Call[] {
  const turns = messages.filter((message) => message.role === "assistant");
  const last = turns.at(-1);
  if (!last) return [];
  const asked = (last.content ?? []).flatMap(({ toolUse }) =>
    toolUse ? [{ modelId: toolUse.toolUseId ?? "", tool: toolUse.name ?? "", arguments: toolUse.input ?? {} }] : [],
  );
  const after = messages.slice(messages.lastIndexOf(last) + 1).flatMap((message) => message.content ?? []);
  const answered = after.flatMap(({ toolResult }) => (toolResult ? [toolResult.toolUseId ?? ""] : []));
  return unanswered(options.turn ?? turns.length, asked, answered);
}

/**
 * Returns the message with the results of calls. Its images are buffers: read stored messages with `JSON.parse(text,
 * revive)`.
 */
export function results(calls: Call[], outcomes: Outcome[]): Message[] {
  if (calls.length === 0) return [];
  const content = calls.map(({ modelId: toolUseId }, index) => {
    const { text, isError, images } = shown(outcomes[index]!);
    const blocks = images.map(({ media_type, data }): ToolResultContentBlock => {
      const format = media_type.replace("image/", "") as ImageFormat;
      return { image: { format, source: { bytes: Buffer.from(data, "base64") } } };
    });
    const status = isError ? ("error" as const) : ("success" as const);
    return { toolResult: { toolUseId, status, content: [{ text }, ...blocks] } };
  });
  return [{ role: "user", content }];
}

/** Restores the images of messages that were stored as JSON. */
export function revive(_key: string, value: unknown): unknown {
  const stored = value as { type?: unknown; data?: unknown } | null;
  return stored?.type === "Buffer" && Array.isArray(stored.data) ? Buffer.from(stored.data) : value;
}

/**
 * Runs the calls that have no result yet, each once, and returns the messages to append: none if there are no such
 * calls.
 */
export const run = runner(callsOf, results);

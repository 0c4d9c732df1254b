// OpenAI's chat completions: functions over the messages that a chat server stores.

import type {
  ChatCompletionFunctionTool,
  ChatCompletionMessage,
  ChatCompletionMessageParam,
} from "openai/resources/chat/completions";

import type { Chat, ToolsOptions } from "../chat.js";
import { type Call, type Outcome, type TurnOptions, dataUrl, runner, shown, unanswered } from "../loop.js";

export type Message = ChatCompletionMessageParam;

/** Returns the tools for `chat.completions.create`. */
export function tools(chat: Chat, options?: ToolsOptions): Promise<ChatCompletionFunctionTool[]> {
  return chat.tools("openai", options);
}

/** Returns the message of the model without what the SDK parsed of it, which the API refuses. */
export function messageOf({ role, content, refusal, tool_calls = [] }: ChatCompletionMessage): Message {
  const calls = tool_calls.map((call) => {
    if (call.type !== "function") return call;
    const { name, arguments: text } = call.function;
    return { id: call.id, type: call.type, function: { name, arguments: text } };
  });
  return { role, content, ...(refusal && { refusal }), ...(calls.length > 0 && { tool_calls: calls }) };
}

/** Returns the calls of the last turn of the model that have no result yet. */
export function callsOf(messages: Message[], options: TurnOptions = {}): Call[] {
  const turns = messages.filter((message) => message.role === "assistant");
  const last = turns.at(-1);
  if (!last) return [];
  const after = messages.slice(messages.lastIndexOf(last) + 1);
  const answered = after.flatMap((message) => (message.role === "tool" ? [message.tool_call_id] : []));
  const asked = (last.tool_calls ?? []).flatMap((call) =>
    call.type === "function"
      ? [{ modelId: call.id, tool: call.function.name, arguments: call.function.arguments }]
      : [],
  );
  return unanswered(options.turn ?? turns.length, asked, answered);
}

/**
 * Returns the messages with the results of calls. A message of the user brings the images, because results have none.
 */
export function results(calls: Call[], outcomes: Outcome[]): Message[] {
  const all = outcomes.map(shown);
  const told = calls.map((call, index): Message => ({
    role: "tool",
    tool_call_id: call.modelId,
    content: all[index]!.text,
  }));
  const images = all.flatMap(({ images }) => images);
  if (images.length === 0) return told;
  const content = images.map((image) => ({ type: "image_url" as const, image_url: { url: dataUrl(image) } }));
  return [...told, { role: "user", content }];
}

/**
 * Runs the calls that have no result yet, each once, and returns the messages to append: none if there are no such
 * calls.
 */
export const run = runner(callsOf, results);

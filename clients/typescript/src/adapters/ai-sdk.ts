// The AI SDK: the tools of a chat for `generateText` and `streamText`.

import { type ToolSet, dynamicTool, jsonSchema } from "ai";

import type { Chat } from "../chat.js";
import type { Shown } from "../loop.js";
import { type FrameworkOptions, definitions, runOnce } from "./framework.js";

/**
 * Returns the tools of a chat. A call runs once for each turn and id of the model: the turn is the number of assistant
 * messages. So a call that is repeated with the stored messages does not run again. If the signal of the generation
 * aborts, the call is cancelled.
 */
export async function tools(chat: Chat, options: FrameworkOptions = {}): Promise<ToolSet> {
  const all = await definitions(chat);
  const entries = all.map(({ name, description, input_schema }) => {
    const tool = dynamicTool({
      description,
      inputSchema: jsonSchema(input_schema),
      execute: (input, { toolCallId: id, messages, abortSignal: signal }) => {
        const turn = messages.filter((message) => message.role === "assistant").length + 1;
        return runOnce(chat, { turn, id, tool: name, arguments: input, signal }, options);
      },
      toModelOutput: ({ output }) => toModelOutput(output as Shown),
    });
    return [name, tool] as const;
  });
  return Object.fromEntries(entries);
}

function toModelOutput({ text, isError, images }: Shown) {
  if (isError) return { type: "error-text" as const, value: text };
  if (images.length === 0) return { type: "text" as const, value: text };
  const files = images.map(({ media_type: mediaType, data }) => ({
    type: "file" as const,
    mediaType,
    data: { type: "data" as const, data },
  }));
  return { type: "content" as const, value: [{ type: "text" as const, text }, ...files] };
}

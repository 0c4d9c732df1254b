// The OpenAI Agents SDK: the tools of a chat.

import { type FunctionTool, tool } from "@openai/agents";

import type { Chat } from "../chat.js";
import { dataUrl } from "../loop.js";
import { type FrameworkOptions, definitions, runOnce } from "./framework.js";

/**
 * Returns the tools of a chat. A call runs once for each run and id of the model: a run that is resumed from its state
 * repeats the ids, and its calls do not run again. The SDK does not tell the turn, so give each run a `prefix` if the
 * ids of the model repeat. If the signal of the run aborts, the call is cancelled.
 */
export async function tools(chat: Chat, options: FrameworkOptions = {}): Promise<FunctionTool[]> {
  const all = await definitions(chat);
  return all.map(({ name, description, input_schema }) => {
    const execute = async (
      input: unknown,
      _context: unknown,
      details?: { toolCall?: { callId: string }; signal?: AbortSignal },
    ) => {
      const call = { id: details?.toolCall?.callId, tool: name, arguments: input, signal: details?.signal };
      const { text, images } = await runOnce(chat, call, options);
      if (images.length === 0) return text;
      return [{ type: "text", text }, ...images.map((image) => ({ type: "image", image: dataUrl(image) }))];
    };
    // The type of the SDK for schemas knows less than JSON Schema.
    const parameters = input_schema as never;
    return tool({ name, description, parameters, strict: false, execute, errorFunction: null }) as FunctionTool;
  });
}

// LangChain and LangGraph: the tools of a chat.

import { ToolMessage } from "@langchain/core/messages";
import { DynamicStructuredTool, type ToolRunnableConfig } from "@langchain/core/tools";

import type { Chat } from "../chat.js";
import { dataUrl } from "../loop.js";
import { type FrameworkOptions, definitions, runOnce } from "./framework.js";

/** What the nodes for tools of LangGraph and LangChain add to the configuration. */
type Runtime = ToolRunnableConfig & { state?: { messages?: { type?: string }[] } };

/**
 * Returns the tools of a chat. A call runs once for each turn and id of the model: the turn is the number of AI
 * messages in the state of the graph. So a graph that resumes from a checkpoint does not run it again. Outside of a
 * graph, give each run a `prefix`. If the signal of the configuration aborts, the call is cancelled. A node for tools
 * tells the model of `Unanswered` as well, unless its `handleToolErrors` is false.
 */
export async function tools(chat: Chat, options: FrameworkOptions = {}): Promise<DynamicStructuredTool[]> {
  const all = await definitions(chat);
  return all.map(({ name, description, input_schema: schema }) => {
    const func = async (input: unknown, _manager: unknown, config?: Runtime) => {
      const messages = config?.state?.messages;
      const turn = messages?.filter((message) => message.type === "ai").length;
      const id = config?.toolCall?.id;
      const { text, isError, images } = await runOnce(
        chat,
        { turn, id, tool: name, arguments: input, signal: config?.signal },
        options,
      );
      const blocks = images.map((image) => ({ type: "image_url", image_url: { url: dataUrl(image) } }));
      const content = images.length === 0 ? text : [{ type: "text", text }, ...blocks];
      return new ToolMessage({ content, tool_call_id: id!, name, status: isError ? "error" : "success" });
    };
    return new DynamicStructuredTool({ name, description, schema, func });
  });
}

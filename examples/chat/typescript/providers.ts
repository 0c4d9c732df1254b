// Two APIs of model providers, each as the same few steps of a chat, and as a stream.

import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";

import type { Dialect, Toolhost } from "./toolhost.js";

/** A tool that the model asks for. */
export interface Call {
  id: string;
  tool: string;
  /** What the model wrote, an object or a text: Toolhost reads the text, and tells the model what is wrong with it. */
  arguments: unknown;
}

/** What came of it. */
export interface Result {
  call: Call;
  text: string;
  isError: boolean;
}

/** One chat with a model. */
export interface Chat {
  user(text: string): void;
  /** Has the model speak, and returns what it asks for. */
  ask(print: (text: string) => void): Promise<Call[]>;
  results(results: Result[]): void;
}

export async function begin(dialect: Dialect, model: string, toolhost: Toolhost): Promise<Chat> {
  switch (dialect) {
    case "openai":
      return new ChatCompletions(model, await toolhost.tools(dialect));
    case "anthropic":
      return new Messages(model, await toolhost.tools(dialect));
    default:
      throw new Error(`this example has no ${dialect}; there are openai and anthropic`);
  }
}

/** OpenAI's chat completions. */
class ChatCompletions implements Chat {
  private client = new OpenAI();
  private messages: OpenAI.ChatCompletionMessageParam[] = [];

  constructor(
    private model: string,
    private tools: OpenAI.ChatCompletionTool[],
  ) {}

  user(text: string) {
    this.messages.push({ role: "user", content: text });
  }

  async ask(print: (text: string) => void): Promise<Call[]> {
    const { model, messages, tools } = this;
    const stream = this.client.chat.completions.stream({ model, messages, tools });
    stream.on("content", (delta) => print(delta));
    const { content, tool_calls } = await stream.finalMessage();
    const calls = (tool_calls ?? []).filter((call) => call.type === "function");
    this.messages.push({ role: "assistant", content, ...(calls.length > 0 && { tool_calls: calls }) });
    return calls.map(({ id, function: { name, arguments: text } }) => ({ id, tool: name, arguments: text }));
  }

  results(results: Result[]) {
    for (const { call, text } of results) {
      this.messages.push({ role: "tool", tool_call_id: call.id, content: text });
    }
  }
}

/** Anthropic's messages. */
class Messages implements Chat {
  private client = new Anthropic();
  private messages: Anthropic.MessageParam[] = [];

  constructor(
    private model: string,
    private tools: Anthropic.Tool[],
  ) {}

  user(text: string) {
    this.messages.push({ role: "user", content: text });
  }

  async ask(print: (text: string) => void): Promise<Call[]> {
    const { model, messages, tools } = this;
    const stream = this.client.messages.stream({ model, max_tokens: 4096, messages, tools });
    stream.on("text", (delta) => print(delta));
    const { content } = await stream.finalMessage();
    this.messages.push({ role: "assistant", content });
    const calls = content.filter((part) => part.type === "tool_use");
    return calls.map(({ id, name, input }) => ({ id, tool: name, arguments: input }));
  }

  results(results: Result[]) {
    const content = results.map(({ call, text, isError }) => ({
      type: "tool_result" as const,
      tool_use_id: call.id,
      content: text,
      is_error: isError,
    }));
    this.messages.push({ role: "user", content });
  }
}

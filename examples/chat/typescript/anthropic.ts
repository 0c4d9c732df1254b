// The loop with Anthropic's messages.

import Anthropic from "@anthropic-ai/sdk";
import type { Chat } from "toolhost-client";
import { type Message, run, tools } from "toolhost-client/anthropic";

import type { Settings } from "./chat.js";

export { callsOf } from "toolhost-client/anthropic";

export async function converse(chat: Chat, messages: Message[], { model, print, store, signal }: Settings) {
  const anthropic = new Anthropic();
  for (;;) {
    // Runs what the model asked for, each call once, even if this program or Toolhost was restarted meanwhile.
    messages.push(...(await run(chat, messages, { signal })));
    await store(messages);
    if (signal.aborted || messages.at(-1)?.role === "assistant") return;
    const request = { model, max_tokens: 4096, messages, tools: await tools(chat, { signal }) };
    const stream = anthropic.messages.stream(request, { signal });
    stream.on("text", print);
    const { role, content } = await stream.finalMessage();
    messages.push({ role, content });
    print("\n");
    await store(messages);
  }
}

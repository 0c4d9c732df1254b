// The loop with OpenAI's chat completions.

import OpenAI from "openai";
import type { Chat } from "toolhost-client";
import { type Message, messageOf, run, tools } from "toolhost-client/openai";

import type { Settings } from "./chat.js";

export { callsOf } from "toolhost-client/openai";

export async function converse(chat: Chat, messages: Message[], { model, print, store, signal }: Settings) {
  const openai = new OpenAI();
  for (;;) {
    // Runs what the model asked for, each call once, even if this program or Toolhost was restarted meanwhile.
    messages.push(...(await run(chat, messages, { signal })));
    await store(messages);
    if (signal.aborted || messages.at(-1)?.role === "assistant") return;
    const stream = openai.chat.completions.stream(
      { model, messages, tools: await tools(chat, { signal }) },
      { signal },
    );
    stream.on("content", (text) => print(text));
    messages.push(messageOf(await stream.finalMessage()));
    print("\n");
    await store(messages);
  }
}

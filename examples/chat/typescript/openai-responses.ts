// The loop with OpenAI's responses.

import OpenAI from "openai";
import type { Chat } from "toolhost-client";
import { type Item, run, tools } from "toolhost-client/openai-responses";

import type { Settings } from "./chat.js";

export { callsOf } from "toolhost-client/openai-responses";

export async function converse(chat: Chat, input: Item[], { model, print, store, signal }: Settings) {
  const openai = new OpenAI();
  for (;;) {
    // Runs what the model asked for, each call once, even if this program or Toolhost was restarted meanwhile.
    input.push(...(await run(chat, input, { signal })));
    await store(input);
    const last = input.at(-1);
    if (signal.aborted || (last && "role" in last && last.role === "assistant")) return;
    const request = { model, input, tools: await tools(chat, { signal }), stream: true } as const;
    for await (const event of await openai.responses.create(request, { signal })) {
      if (event.type === "response.output_text.delta") print(event.delta);
      if (event.type === "response.completed") input.push(...(event.response.output as Item[]));
    }
    print("\n");
    await store(input);
  }
}

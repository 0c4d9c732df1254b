// The loop with Gemini.

import { type Content, GoogleGenAI, type Part } from "@google/genai";
import type { Chat } from "toolhost-client";
import { run, tools } from "toolhost-client/gemini";

import type { Settings } from "./chat.js";

export { callsOf } from "toolhost-client/gemini";

export async function converse(chat: Chat, contents: Content[], { model, print, store, signal }: Settings) {
  const gemini = new GoogleGenAI({});
  for (;;) {
    // Runs what the model asked for, each call once, even if this program or Toolhost was restarted meanwhile.
    contents.push(...(await run(chat, contents, { signal })));
    await store(contents);
    if (signal.aborted || contents.at(-1)?.role === "model") return;
    const config = { tools: await tools(chat, { signal }), abortSignal: signal };
    const parts: Part[] = [];
    for await (const chunk of await gemini.models.generateContentStream({ model, contents, config })) {
      const added = chunk.candidates?.[0]?.content?.parts ?? [];
      for (const { text, thought } of added) if (text && !thought) print(text);
      parts.push(...added);
    }
    contents.push({ role: "model", parts });
    print("\n");
    await store(contents);
  }
}

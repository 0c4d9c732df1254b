// The loop with Converse of Amazon Bedrock.

import { BedrockRuntimeClient, ConverseStreamCommand, type Message } from "@aws-sdk/client-bedrock-runtime";
import { NodeHttpHandler } from "@smithy/node-http-handler";
import type { Chat } from "toolhost-client";
import { messageOf, run, tools } from "toolhost-client/bedrock";

import type { Settings } from "./chat.js";

export { callsOf, revive } from "toolhost-client/bedrock";

export async function converse(chat: Chat, messages: Message[], { model, print, store, signal }: Settings) {
  // The SDK speaks HTTP/2, which an address without TLS, such as that of the scripted model, does not have.
  const isPlain = process.env.AWS_ENDPOINT_URL_BEDROCK_RUNTIME?.startsWith("http://");
  const bedrock = new BedrockRuntimeClient(isPlain ? { requestHandler: new NodeHttpHandler() } : {});
  for (;;) {
    // Runs what the model asked for, each call once, even if this program or Toolhost was restarted meanwhile.
    messages.push(...(await run(chat, messages, { signal })));
    await store(messages);
    if (signal.aborted || messages.at(-1)?.role === "assistant") return;
    const command = new ConverseStreamCommand({
      modelId: model,
      messages,
      toolConfig: { tools: await tools(chat, { signal }) },
    });
    const { stream } = await bedrock.send(command, { abortSignal: signal });
    messages.push(await messageOf(stream, print));
    print("\n");
    await store(messages);
  }
}

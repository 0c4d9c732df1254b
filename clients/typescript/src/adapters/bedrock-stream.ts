// The stream of Converse: the whole message of the model, which the SDK does not make.

import type { ContentBlock, ConverseStreamOutput, Message } from "@aws-sdk/client-bedrock-runtime";

/** A block of content as far as it has come. The arguments of a call come as pieces of a text. */
interface Block {
  text: string;
  call?: { toolUseId: string | undefined; name: string | undefined };
  isReasoning?: boolean;
  signature?: string;
  redactedContent?: Uint8Array;
}

/** Returns the message of the model from the stream of `ConverseStreamCommand`, and passes on its text as it comes. */
export async function messageOf(
  stream: AsyncIterable<ConverseStreamOutput> | undefined,
  onText?: (text: string) => void,
): Promise<Message> {
  const blocks: Block[] = [];
  for await (const { contentBlockStart: begun, contentBlockDelta: added } of stream ?? []) {
    const block = (blocks[(begun ?? added)?.contentBlockIndex ?? 0] ??= { text: "" });
    const call = begun?.start?.toolUse;
    if (call) block.call = { toolUseId: call.toolUseId, name: call.name };
    const { text, toolUse, reasoningContent } = added?.delta ?? {};
    if (text) onText?.(text);
    block.text += text ?? toolUse?.input ?? reasoningContent?.text ?? "";
    if (!reasoningContent) continue;
    block.isReasoning = true;
    if (reasoningContent.signature) block.signature = reasoningContent.signature;
    // A buffer, so that it can be stored as JSON.
    if (reasoningContent.redactedContent) block.redactedContent = Buffer.from(reasoningContent.redactedContent);
  }
  return { role: "assistant", content: blocks.flat().map(contentOf) };
}

function contentOf({ text, call, isReasoning, signature, redactedContent }: Block): ContentBlock {
  if (call) return { toolUse: { ...call, input: JSON.parse(text || "{}") } };
  if (redactedContent) return { reasoningContent: { redactedContent } };
  if (isReasoning) return { reasoningContent: { reasoningText: { text, ...(signature && { signature }) } } };
  return { text };
}

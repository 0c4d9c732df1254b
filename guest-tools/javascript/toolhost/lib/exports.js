// What the component exports: the tools of the plugin, and their calls.

import * as engine from "#engine";
import * as host from "#host";
import { ToolError } from "./errors.js";
import { isOutOfMemory, lines, summary } from "./failure.js";
import { wellFormed } from "./reply.js";
import { defined, find } from "./tool.js";

/** The export `tools` of the component. */
export const tools = {
  listTools() {
    return [...defined.values()].map(definition);
  },

  callTool(call) {
    engine.begin(call.id);
    try {
      const reply = find(call.tool).call(call.arguments);
      return typeof reply.then === "function" ? engine.settle(reply.then(written, refuse), call.tool) : written(reply);
    } catch (error) {
      return refuse(error);
    }
  },
};

/** Throws an error of the contract as the bindings take it, and any other as a failure with its place. */
function refuse(error) {
  if (error instanceof ToolError) throw { tag: error.kind, val: wellFormed(error.message) };
  if (isOutOfMemory(error)) throw error;
  for (const line of lines(error)) host.log("error", wellFormed(line));
  throw { tag: "failed", val: wellFormed(summary(error)) };
}

function written({ parts, isError, extra }) {
  return { content: parts, isError, extra };
}

/** Returns a tool as the contract has it. */
function definition(tool) {
  const { readOnly = false, nonDestructive = readOnly, idempotent = false, closedWorld = false } = tool;
  const json = (value) => (value === undefined ? undefined : JSON.stringify(value));
  return {
    name: tool.name,
    title: tool.title,
    description: tool.description,
    inputSchema: json(tool.inputSchema),
    outputSchema: json(tool.outputSchema),
    hints: { readOnly, nonDestructive, idempotent, closedWorld },
    maxDurationMs: tool.maxDuration === undefined ? undefined : engine.u64(Math.round(tool.maxDuration * 1000)),
    examples: (tool.examples ?? []).map((one) => ({
      name: one.name ?? json(one.arguments),
      arguments: json(one.arguments),
      isError: one.isError ?? false,
    })),
    extra: tool.resources === undefined ? [] : [["resources", json(tool.resources)]],
  };
}

// Writes plugins for Toolhost: `tool({…})` defines a tool, and `export { tools } from "toolhost"` exports all of them.

import "#engine";

export { context, log, progress, settings } from "./lib/surroundings.js";
export { Denied, Failed, HostError, InvalidArguments, ToolError, Unavailable } from "./lib/errors.js";
export { tools } from "./lib/exports.js";
export { Reply } from "./lib/reply.js";
export { t } from "./lib/types.js";
export { tool } from "./lib/tool.js";

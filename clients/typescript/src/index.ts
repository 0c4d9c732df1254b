// The client of Toolhost for chat servers. The adapters for providers and frameworks are modules of their own.

export { type ApprovalAnswer, type ApprovalRequest, answerApproval, parseApproval } from "./approval.js";
export {
  type CallFilter,
  type CallOptions,
  Chat,
  type Format,
  type Input,
  type Signal,
  type ToolsOptions,
} from "./chat.js";
export { type Problem, Refused, Unanswered } from "./errors.js";
export type { EventOptions } from "./events.js";
export { Files, type Upload, type UploadOptions } from "./files.js";
export type { ConnectionOptions } from "./http.js";
export {
  type Call,
  type Outcome,
  type RunOptions,
  type Shown,
  type TurnOptions,
  outcome,
  outcomes,
  shown,
} from "./loop.js";
export { Toolhost } from "./toolhost.js";
export * from "./types.js";
export { InvalidSignature, type Webhook, type WebhookHeaders, verify } from "./webhook.js";

// What every plugin may ask its host: facts about the call, settings, the log, and progress.

import * as host from "#host";

/** Facts about the running call. */
export const context = {
  /** Returns the chat that the call belongs to. */
  chat: () => host.chat(),
  /** Returns the absolute path of the workspace directory, as a command that runs there sees it. */
  workspaceRoot: () => host.workspaceRoot(),
  /** Returns how many seconds are left until the host ends the call. */
  remaining: () => host.remainingMs() / 1000,
  /** Returns whether the caller has cancelled the call. Reply soon, with what there is: the host waits 2 seconds. */
  cancelled: () => host.cancelled(),
  /** Returns what the caller said about itself under this name; `undefined` if it said nothing. */
  attribute: (name) => host.attribute(name),
};

/** Settings and secrets that the operator gave this plugin. */
export const settings = {
  /** Returns the value of a setting, or `fallback` if the operator did not set it. */
  get: (key, fallback) => host.setting(key) ?? fallback,
  /** Returns the value of a secret. Throws `Denied` with the reason if there is none. */
  secret: (name) => host.secret(name),
};

/** Lines for the operator's log. They never reach the caller or the model. */
export const log = {
  debug: (message) => host.log("debug", String(message)),
  info: (message) => host.log("info", String(message)),
  warn: (message) => host.log("warn", String(message)),
  error: (message) => host.log("error", String(message)),
};

/** Tells the caller how far a call has come. */
export const progress = {
  /** Reports that `done` out of `total` units of work are done. `done` must not decrease; `message` is for a person. */
  report: (done, total, message) => host.report(done, total, message),
};

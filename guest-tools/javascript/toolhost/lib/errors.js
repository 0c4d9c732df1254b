// Errors that a model reads. A tool throws them. Any other exception is a mistake of the tool: the model reads its type, its message and
// its place, and the log gets the functions.

/** The reason why a call gave no reply. `kind` is as in the contract and in `cases.json`. */
export class ToolError extends Error {
  constructor(text, kind = "failed") {
    super(text);
    this.name = new.target.name;
    this.kind = kind;
  }
}

/** The arguments are not what the tool takes. */
export class InvalidArguments extends ToolError {
  constructor(text) {
    super(text, "invalid-arguments");
  }
}

/** The tool needs something that it was not granted. */
export class Denied extends ToolError {
  constructor(text) {
    super(text, "denied");
  }
}

/** Something that the tool needs cannot be reached now. A later call may succeed. */
export class Unavailable extends ToolError {
  constructor(text) {
    super(text, "unavailable");
  }
}

/** The tool failed in another way. */
export class Failed extends ToolError {}

/** The plugin offers no tool of this name. */
export class UnknownTool extends ToolError {
  constructor(name) {
    super(name, "unknown-tool");
  }
}

/**
 * An error of processes, files or HTTP. `reason` is its name in the contract, for example `not-found`, and `index` the place of the
 * file among several that were to be written. If a tool does not catch the error, the call fails with its text.
 */
export class HostError extends ToolError {
  constructor(reason, text, index) {
    super(text, reason === "denied" || reason === "unavailable" ? reason : "failed");
    this.reason = reason;
    this.index = index;
  }
}

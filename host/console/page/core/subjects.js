// The subjects of calls that ran no command: the path or the first line by which a list tells one call from another.

import { address, api, callAddress } from "./api.js";

/** The arguments that say what a call is about, the most telling first. */
const TELLING = ["command", "path", "file_path", "code", "pattern", "query", "url"];

/** The parts of a reply that do. */
const REPLIED = ["command", "path", "output", "content", "result"];

/** The largest arguments and replies that are fetched for a list, in bytes. */
const LARGEST = 64 << 10;

/** How many requests run at once. */
const AT_ONCE = 4;

/** Returns the first line of a text that says something, without the number that `read_file` puts before it. @param {unknown} text */
function firstLine(text) {
  if (typeof text === "number" || typeof text === "boolean") return String(text);
  if (typeof text !== "string") return undefined;
  return text.split("\n", 200).map((line) => line.replace(/^\s*\d+\t/, "").trim()).find(Boolean);
}

/** Returns the paths of several files. @param {any} files */
function pathsOf(files) {
  const paths = Array.isArray(files) ? files.map((file) => file?.path ?? file).filter((path) => typeof path === "string") : [];
  return paths.length > 3 ? `${paths.slice(0, 3).join(", ")} and ${paths.length - 3} more` : paths.join(", ");
}

/** Returns the paths of the files that a patch names. @param {unknown} patch */
function pathsOfPatch(patch) {
  if (typeof patch !== "string") return "";
  const named = patch.slice(0, LARGEST).matchAll(/^(?:\*\*\* (?:Add|Update|Delete) File: |\+\+\+ (?:b\/)?)(.+)$/gm);
  return pathsOf([...named].map(([, path]) => path?.trim()));
}

/** Returns the first of these values that is a text. @param {any} values @param {string[]} names */
function told(values, names) {
  if (typeof values !== "object" || values === null) return undefined;
  return pathsOf(values.files) || pathsOfPatch(values.patch) || names.map((name) => firstLine(values[name])).find(Boolean);
}

/** @param {any} values of the arguments */
const ofArguments = (values) => told(values, TELLING) ?? Object.values(values ?? {}).map(firstLine).find(Boolean);

/** @param {any} outcome */
function ofReply({ structured, content = [], error }) {
  const text = content.find((/** @type {any} */ part) => part.type === "text")?.text;
  return told(structured, REPLIED) ?? firstLine(error?.message) ?? firstLine(text);
}

/** What is known of the subjects of the calls of a chat. */
export class Subjects {
  /**
   * @param {string} chat
   * @param {() => void} changed
   * @param {boolean} mayAudit whether the audit trail can be asked, which has the paths of written files
   */
  constructor(chat, changed, mayAudit) {
    this.chat = chat;
    this.changed = changed;
    this.mayAudit = mayAudit;
    /** @type {Map<string, string>} */
    this.known = new Map();
    /** The calls that were looked at, with the state that they had. @type {Map<string, string>} */
    this.asked = new Map();
    /** @type {import("./chat.js").Call[]} */
    this.waiting = [];
    this.running = 0;
    this.abort = new AbortController();
    /** The paths of written files by call. @type {Promise<Map<string, string>> | undefined} */
    this.written = undefined;
  }

  close() {
    this.abort.abort();
    this.waiting = [];
  }

  /** Returns the subject of a call if it is known, and else has it looked up. @param {import("./chat.js").Call} call */
  of(call) {
    const found = this.known.get(call.id);
    if (found === undefined && this.asked.get(call.id) !== call.state && (call.arguments_bytes || call.reply_bytes)) {
      this.asked.set(call.id, call.state);
      this.waiting.push(call);
      this.work();
    }
    return found;
  }

  work() {
    while (this.running < AT_ONCE && this.waiting.length > 0) {
      const call = /** @type {import("./chat.js").Call} */ (this.waiting.shift());
      this.running += 1;
      this.find(call).then((found) => {
        if (found) this.known.set(call.id, found);
        if (found) this.changed();
      }, () => {
        // The list shows the id instead.
      }).finally(() => {
        this.running -= 1;
        this.work();
      });
    }
  }

  /** @param {import("./chat.js").Call} call */
  async find({ id, tool, arguments_bytes, reply_bytes }) {
    const own = callAddress(this.chat, id);
    const { signal } = this.abort;
    const isSmall = (/** @type {number | undefined} */ bytes) => bytes !== undefined && bytes <= LARGEST;
    const asked = isSmall(arguments_bytes) && ofArguments(await api(`${own}/arguments`, { signal }));
    if (asked) return asked;
    const written = tool === "write_file" && this.mayAudit && (await this.writtenFiles()).get(id);
    if (written) return written;
    return isSmall(reply_bytes) && ofReply(await api(own, { signal }));
  }

  /** Returns the paths of the files that the calls of this chat wrote, as the audit trail has them. */
  writtenFiles() {
    this.written ??= api(address("/v1/audit", { chat: this.chat, event: "file_write", limit: 500 }), { signal: this.abort.signal })
      .then(({ lines }) => new Map(lines.map((/** @type {any} */ line) => [line.call, line.path])), () => new Map());
    return this.written;
  }
}

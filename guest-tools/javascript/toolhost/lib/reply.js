// Replies: an ordered list of parts, which are texts, JSON values, images, sounds and documents.

import { Failed } from "./errors.js";

/** A reply of several parts, or one that reports a failure. Its methods return the reply: `new Reply("done").image(…)`. */
export class Reply {
  constructor(text) {
    this.parts = [];
    this.isError = false;
    this.extra = [];
    if (text !== undefined) this.text(text);
  }

  /** Makes a reply that reports a failure which the model should read. */
  static error(text) {
    return new Reply(text).asError();
  }

  /** Marks the reply as the report of a failure. */
  asError() {
    this.isError = true;
    return this;
  }

  text(text) {
    return this.add({ tag: "text", val: wellFormed(text) });
  }

  /** Adds a JSON value: the structured result. Throws `Failed` if JSON cannot hold it. */
  json(value) {
    return this.add({ tag: "json", val: toJson(value) });
  }

  /** Adds an image, for example of the type `image/png`. */
  image(data, mediaType) {
    return this.add({ tag: "image", val: { mediaType, data } });
  }

  /** Adds a sound, for example of the type `audio/wav`. */
  audio(data, mediaType) {
    return this.add({ tag: "audio", val: { mediaType, data } });
  }

  /** Adds a document, or without `data` a pointer to one. */
  document(uri, data, mediaType) {
    return this.add({ tag: "document", val: { uri, mediaType, data } });
  }

  add(part) {
    this.parts.push(part);
    return this;
  }
}

/** Returns a text with U+FFFD for each half of a surrogate pair that stands alone: UTF-8 has no bytes for one. */
export function wellFormed(text) {
  return String(text).replace(/[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g, "\ufffd");
}

function toJson(value) {
  let text;
  try {
    text = JSON.stringify(value);
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    throw new Failed(`the reply cannot be written as JSON: ${error.message}`);
  }
  if (text === undefined) throw new Failed(`the reply cannot be written as JSON: it is a ${typeof value}`);
  return text;
}

/** Returns what a tool returned as a reply: a text is a text, `undefined` is a reply without parts, all else is JSON. */
export function replyOf(result) {
  if (result instanceof Reply) return result;
  if (result === undefined) return new Reply();
  return typeof result === "string" ? new Reply(result) : new Reply().json(result);
}

/** Returns the JSON value of a reply; `undefined` if it has none. */
export function structured(reply) {
  const part = reply.parts.find(({ tag }) => tag === "json");
  return part === undefined ? undefined : JSON.parse(part.val);
}

/** Returns all texts of a reply, joined. */
export function texts(reply) {
  return reply.parts.map(({ tag, val }) => (tag === "text" ? val : "")).join("");
}

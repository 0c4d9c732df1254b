// HTTP, by the bindings of `wasi:http`. They say why a request failed, which `fetch` does not.

import { handle } from "wasi:http/outgoing-handler@0.2.12";
import { Fields, OutgoingBody, OutgoingRequest, RequestOptions } from "wasi:http/types@0.2.12";
import { HostError } from "../lib/errors.js";

/** The most bytes that the host takes at once, and that are read at once. */
const PIECE = 4096;
const READ = 64n << 10n;

const METHODS = ["get", "head", "post", "put", "delete", "connect", "options", "trace", "patch"];

/** The beginnings of failures that may pass. */
const TRANSIENT = ["DNS", "destination", "connection", "TLS", "HTTP-response", "internal-error"];

export async function send({ method, url, headers, body, timeout }) {
  try {
    return exchange(prepared(method, url, headers), body, optionsOf(timeout));
  } catch (error) {
    throw "payload" in error ? refusal(error.payload) : error;
  }
}

function prepared(method, { scheme, authority, path }, headers) {
  const encoder = new TextEncoder();
  const request = new OutgoingRequest(
    Fields.fromList(Object.entries(headers).map(([name, value]) => [name, encoder.encode(value)])),
  );
  const name = method.toLowerCase();
  request.setMethod(METHODS.includes(name) ? { tag: name } : { tag: "other", val: method });
  request.setScheme({ tag: scheme === "https" ? "HTTPS" : "HTTP" });
  request.setAuthority(authority);
  request.setPathWithQuery(path);
  return request;
}

function optionsOf(timeout) {
  if (timeout === undefined) return undefined;
  const options = new RequestOptions();
  const nanoseconds = BigInt(Math.round(timeout * 1e9));
  options.setConnectTimeout(nanoseconds);
  options.setFirstByteTimeout(nanoseconds);
  options.setBetweenBytesTimeout(nanoseconds);
  return options;
}

function exchange(request, body, options) {
  const outgoing = request.body();
  const future = handle(request, options);
  try {
    writeBody(outgoing, body);
  } catch {
    // The request failed meanwhile. The future has the reason.
  }
  future.subscribe().block();
  // The outer result is there because nothing took the value before.
  const { tag, val } = future.get().val;
  if (tag === "err") throw refusal(val);
  const headers = {};
  const decoder = new TextDecoder("latin1");
  for (const [name, value] of val.headers().entries()) {
    const key = name.toLowerCase();
    const text = decoder.decode(value);
    headers[key] = key in headers ? `${headers[key]}, ${text}` : text;
  }
  return { status: val.status(), headers, body: readBody(val) };
}

function writeBody(outgoing, body) {
  if (body.length > 0) {
    const stream = outgoing.write();
    for (let at = 0; at < body.length; at += PIECE) stream.blockingWriteAndFlush(body.subarray(at, at + PIECE));
    stream[Symbol.dispose]();
  }
  OutgoingBody.finish(outgoing, undefined);
}

function readBody(response) {
  const body = response.consume();
  const stream = body.stream();
  const parts = [];
  let length = 0;
  for (;;) {
    let part;
    try {
      part = stream.blockingRead(READ);
    } catch (error) {
      if (error.payload?.tag === "closed") break;
      throw error;
    }
    parts.push(part);
    length += part.length;
  }
  const all = new Uint8Array(length);
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

/** Returns why a request failed as the error that a plugin sees. */
function refusal(reason) {
  if (reason?.tag === undefined) return new HostError("http", "the request is not valid: look at its method, its URL and its headers");
  if (reason.tag === "last-operation-failed") {
    return new HostError("unavailable", `the connection failed: ${reason.val.toDebugString()}`);
  }
  if (reason.tag === "HTTP-request-denied") {
    return new HostError("denied", "the plugin was not granted requests to this destination");
  }
  const detail = typeof reason.val === "string" ? `: ${reason.val}` : "";
  const kind = TRANSIENT.some((start) => reason.tag.startsWith(start)) ? "unavailable" : "http";
  return new HostError(kind, `the request failed: ${reason.tag}${detail}`);
}

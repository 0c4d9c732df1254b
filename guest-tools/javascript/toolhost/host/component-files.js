// Files, by the bindings of the contract.

import * as wit from "toolhost:plugin/files@0.1.0";
import { u64 } from "#engine";
import { asked as ask } from "./refusal.js";

const WORDS = {
  "not-found": "no such file or directory",
  "not-a-file": "not a file",
  "not-a-directory": "not a directory",
  "outside-workspace": "{} is outside of the workspace",
  "too-large": "larger than {} bytes, the most that is possible",
};
const asked = (run) => ask(WORDS, run);

export const metadata = (path) => facts(asked(() => wit.metadataOf(path)));

export function read(path, offset, max) {
  const { data, size, version, identity } = asked(() => wit.read(path, u64(offset), max));
  return { data, size: Number(size), version, identity };
}

export function skipLines(path, offset, lines) {
  const seen = asked(() => wit.skipLines(path, u64(offset), u64(lines)));
  return { offset: Number(seen.offset), lines: Number(seen.lines), size: Number(seen.size) };
}

export function changeAll(writes, removals) {
  const asks = writes.map(({ path, data, absent, version }) => ({ path, data, when: precondition(absent, version) }));
  const gone = removals.map(({ path, version, movedTo }) => ({ path, version, movedTo }));
  return asked(() => wit.changeAll(asks, gone)).map(facts);
}

export function readDirectory(path, after, max) {
  const [entries, more] = asked(() => wit.readDirectory(path, after, max));
  return { entries, more };
}

export function search(scope, text, page) {
  const seen = asked(() => wit.searchText(scope, text, places(page)));
  const lines = (shown) => shown.map((line) => ({ ...line, number: Number(line.number) }));
  return {
    files: seen.files.map((file) => ({ path: file.path, matches: Number(file.matches), lines: lines(file.lines) })),
    totalFiles: Number(seen.totalFiles),
    totalMatches: Number(seen.totalMatches),
    searched: Number(seen.searched),
    unreadable: Number(seen.unreadable),
    more: seen.more,
  };
}

export function find(scope, { kind, minSize, maxSize, sinceMs, untilMs, newestFirst }, page) {
  const numbers = { minSize: optional(minSize), maxSize: optional(maxSize), sinceMs: optional(sinceMs), untilMs: optional(untilMs) };
  const seen = asked(() => wit.findFiles(scope, { kind, ...numbers, newestFirst }, places(page)));
  return {
    files: seen.files.map((file) => ({ ...file, size: Number(file.size), modifiedMs: Number(file.modifiedMs) })),
    total: Number(seen.total),
    unreadable: Number(seen.unreadable),
    more: seen.more,
  };
}

export function share(path, lifetimeSecs) {
  const { url, expiresMs, name, size, mediaType } = asked(() => wit.share(path, optional(lifetimeSecs)));
  return { url, expiresMs: Number(expiresMs), name, size: Number(size), mediaType };
}

const places = ({ skip, max }) => ({ skip: u64(skip), max: u64(max) });

const optional = (number) => (number === undefined ? undefined : u64(number));

function precondition(absent, version) {
  if (absent) return { tag: "absent" };
  return version === undefined ? { tag: "any" } : { tag: "version", val: version };
}

function facts({ kind, size, modifiedMs, version, identity, realPath }) {
  return { kind, size: Number(size), modifiedMs: Number(modifiedMs), version, identity, realPath };
}

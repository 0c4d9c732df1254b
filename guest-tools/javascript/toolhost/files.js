// Files of the workspace. The plugin needs the grant `files`.
//
// Paths are absolute, or relative to the workspace directory. The host resolves them, and nothing outside can be reached. Every
// function throws `HostError`, whose `reason` is for example `not-found`, `not-a-file`, `outside-workspace` or `changed`.

import * as port from "#host/files";
import { HostError } from "./lib/errors.js";
import { patternOf } from "./lib/glob.js";

/** The most bytes that the host gives at once. */
const PIECE = 4 << 20;
/** The most names that the host gives at once. */
const PAGE = 10_000;
/** The most results of a search, unless the plugin asks for another number. */
const RESULTS = 1000;

/** Returns facts about what a path names, following links. */
export const metadata = (path) => port.metadata(path);

/** Returns whether there is something at a path. */
export function exists(path) {
  try {
    port.metadata(path);
    return true;
  } catch (error) {
    if (error instanceof HostError && error.reason === "not-found") return false;
    throw error;
  }
}

/** Returns at most `max` bytes of a file, from the byte `offset` on; never more than 4 MiB. */
export const read = (path, offset = 0, max = PIECE) => port.read(path, offset, max);

/** Returns the whole content of a file. */
export function readBytes(path) {
  const parts = [];
  let length = 0;
  for (;;) {
    const { data, size } = read(path, length);
    parts.push(data);
    length += data.length;
    if (length >= size || data.length === 0) break;
  }
  const all = new Uint8Array(length);
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

/** Returns the whole content of a file as text, with U+FFFD for what is not UTF-8. */
export const readText = (path) => new TextDecoder().decode(readBytes(path));

/** Goes over at most `lines` lines of a file, from the byte `offset` on, without reading them into the plugin. */
export const skipLines = (path, offset, lines) => port.skipLines(path, offset, lines);

/** Writes a file, and the directories above it: `absent` only a new one, `version` only over this version. */
export const write = (path, data, { absent = false, version } = {}) => writeAll([{ path, data, absent, version }])[0];

/** Writes all of the files or none, and returns facts about each. The error of a file has its `index`. */
export const writeAll = (writes) => changeAll(writes, []);

/** Removes a file, `version` only with this version. Of a link, the link is removed. */
export function remove(path, { version } = {}) {
  changeAll([], [{ path, version }]);
}

/**
 * Writes and removes all of the files or none, and returns facts about each that was written. A file is moved by writing its content to the
 * new path and removing the old one. The error of a file has its `index`, which counts on behind the writes for a removal.
 */
export function changeAll(writes, removals) {
  const bytes = (data) => (typeof data === "string" ? new TextEncoder().encode(data) : data);
  return port.changeAll(writes.map((one) => ({ ...one, absent: one.absent ?? false, data: bytes(one.data) })), removals);
}

/** Returns all names of a directory, in the order of their bytes. */
export function listDirectory(path = ".") {
  const all = [];
  for (;;) {
    const { entries, more } = port.readDirectory(path, all.at(-1)?.name, PAGE);
    all.push(...entries);
    if (!more || entries.length === 0) return all;
  }
}

/**
 * Yields the paths of the files that fit a pattern: those of a directory by name, then those below it.
 *
 * `*` and `?` stand for characters of one name, and `**` for any number of directories. A name that begins with a dot fits only a part
 * of the pattern that begins with one. Links to directories are not followed, and directories that cannot be read are left out.
 * Throws `HostError` if the directory at the beginning of the pattern cannot be read.
 */
export function* walk(pattern = "**") {
  const { directory, goesInto, fits } = patternOf(pattern);
  const waiting = [[]];
  while (waiting.length > 0) {
    const above = waiting.pop();
    let entries;
    try {
      entries = listDirectory(joined(directory, above));
    } catch (error) {
      if (above.length > 0 && UNREADABLE.includes(error.reason)) continue;
      throw error;
    }
    const below = entries.map(({ name, kind }) => ({ names: [...above, name], kind }));
    const directories = below.filter(({ names, kind }) => kind === "directory" && goesInto(names));
    waiting.push(...directories.map(({ names }) => names).reverse());
    for (const { names, kind } of below) {
      const path = joined(directory, names);
      const isMeant = (kind === "file" || kind === "symlink") && fits(names);
      if (isMeant && (kind === "file" || isFile(path))) yield path;
    }
  }
}

/**
 * Searches files for a regular expression of the Rust crate `regex`, in the host, and returns a page of its matches. Binary files are left
 * out. The options are `SearchOptions` of files.d.ts.
 */
export const search = (pattern, options = {}) => port.search(scopeOf(options), textOf(pattern, options), pageOf(options));

/** Finds files and directories by their paths and facts, in the host, and returns a page of them. See `FindOptions` of files.d.ts. */
export function find(options = {}) {
  const { kind, minSize, maxSize, sinceMs, untilMs, newestFirst = false } = options;
  return port.find(scopeOf(options), { kind, minSize, maxSize, sinceMs, untilMs, newestFirst }, pageOf(options));
}

/**
 * Makes a link by which the person that the chat is with gets a file, as the file is then. It ends after `lifetimeSecs`, from 60 to 604,800;
 * without it, after a day. If people cannot reach the host, the text of the error says what to do.
 */
export const share = (path, { lifetimeSecs } = {}) => port.share(path, lifetimeSecs);

function scopeOf({ path = ".", globs = [], types = [], hidden = false, ignored = false, maxDepth }) {
  return { path, globs, types, hidden, ignored, maxDepth };
}

function textOf(pattern, options) {
  const { literal = false, letterCase = "exact", words = false, multiline = false, encoding } = options;
  const { before = 0, after = 0, width = 1024, filesOnly = false } = options;
  return { pattern, literal, letterCase, words, multiline, encoding, before, after, width, filesOnly };
}

const pageOf = ({ skip = 0, max = RESULTS }) => ({ skip, max });

/** The reasons for which a directory below another is left out. */
const UNREADABLE = ["not-found", "not-a-directory", "denied"];

/** Returns the path of what is below a directory; that of the directory `.` is left out. */
function joined(directory, names) {
  if (names.length === 0) return directory;
  return [...(directory === "." ? [] : [directory.replace(/\/$/, "")]), ...names].join("/");
}

function isFile(path) {
  try {
    return metadata(path).kind === "file";
  } catch (error) {
    if (error instanceof HostError) return false;
    throw error;
  }
}

// Searches of files in memory.

import { HostError } from "../lib/errors.js";

/** When every file was changed. */
export const MODIFIED_MS = 1_000_000;

/** Returns a function that says whether a path below the base of a search belongs to its files. */
export function selection({ globs, types, hidden, maxDepth = Infinity }) {
  const wanted = globs.filter((glob) => !glob.startsWith("!")).map(globPattern);
  const unwanted = globs.filter((glob) => glob.startsWith("!")).map((glob) => globPattern(glob.slice(1)));
  return (path) => {
    const names = path.split("/");
    return (
      names.length <= maxDepth &&
      (hidden || !names.some((name) => name.startsWith("."))) &&
      (types.length === 0 || types.some((type) => path.endsWith(`.${type}`))) &&
      (wanted.length === 0 || wanted.some((pattern) => pattern.test(path))) &&
      !unwanted.some((pattern) => pattern.test(path))
    );
  };
}

const WILD = { "**/": "(.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]", "{": "(", "}": ")", ",": "|" };

/** Returns the pattern of paths that fit a glob, or of which a directory fits. */
function globPattern(glob) {
  const start = glob.replace(/\/+$/, "").includes("/") ? "^" : "(^|/)";
  const parts = glob.replace(/^\/+|\/+$/g, "").match(/\*\*\/|\*\*|./gsu) ?? [];
  return compiled(`${start}${parts.map((part) => WILD[part] ?? escaped(part)).join("")}($|/)`);
}

function textPattern({ pattern, literal, words, letterCase }) {
  const expression = literal ? escaped(pattern) : pattern;
  const letter = "[\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}]";
  const ignoresCase = letterCase === "any" || (letterCase === "smart" && !/\p{Uppercase}/u.test(pattern));
  return compiled(words ? `(?<!${letter})(?:${expression})(?!${letter})` : expression, ignoresCase ? "i" : "");
}

const escaped = (text) => text.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&");

function compiled(pattern, flags = "") {
  try {
    return new RegExp(pattern, `mu${flags}`);
  } catch (error) {
    throw new HostError("invalid", `the pattern is not valid: ${error.message}`);
  }
}

/** Searches files for a text, line by line. `files` has pairs of a path and its bytes. */
export function matches(files, text, { skip, max }) {
  const pattern = textPattern(text);
  const searched = files.filter(([, data]) => !data.includes(0)).map(([path, data]) => ({ path, lines: linesOf(data) }));
  const found = searched
    .map(({ path, lines }) => ({ path, lines, places: [...lines.keys()].filter((at) => pattern.test(lines[at])) }))
    .filter(({ places }) => places.length > 0);
  const results = found.flatMap((file) => (text.filesOnly ? [{ file }] : file.places.map((place) => ({ file, place }))));
  const page = results.slice(skip, skip + max);
  const shown = [...new Set(page.map(({ file }) => file))].map((file) => {
    const places = page.filter((one) => one.file === file && one.place !== undefined).map(({ place }) => place);
    return { path: file.path, matches: file.places.length, lines: linesNear(file, places, text) };
  });
  return {
    files: shown,
    totalFiles: found.length,
    totalMatches: found.reduce((sum, { places }) => sum + places.length, 0),
    searched: searched.length,
    unreadable: 0,
    more: results.length > skip + max,
  };
}

function linesOf(data) {
  const lines = new TextDecoder().decode(data).split("\n");
  return (lines.at(-1) === "" ? lines.slice(0, -1) : lines).map((line) => line.replace(/\r$/, ""));
}

/** Returns the lines at these places, and those before and after them. */
function linesNear({ lines, places: matching }, places, { before, after, width }) {
  const isNear = (at) => places.some((place) => at >= place - before && at <= place + after);
  return [...lines.keys()].filter(isNear).map((at) => {
    const letters = [...lines[at]];
    return { number: at + 1, text: letters.slice(0, width).join(""), isMatch: matching.includes(at), isCut: letters.length > width };
  });
}

/** Finds files by their facts. `files` has pairs of a path and its bytes. */
export function find(files, filter, { skip, max }) {
  const found = files
    .map(([path, { length }]) => ({ path, kind: "file", size: length, modifiedMs: MODIFIED_MS }))
    .filter((file) => passes(filter, file));
  return { files: found.slice(skip, skip + max), total: found.length, unreadable: 0, more: found.length > skip + max };
}

function passes({ kind, minSize = 0, maxSize = Infinity, sinceMs = 0, untilMs = Infinity }, file) {
  const isMeant = kind === undefined || kind === file.kind;
  return isMeant && file.size >= minSize && file.size <= maxSize && file.modifiedMs >= sinceMs && file.modifiedMs < untilMs;
}

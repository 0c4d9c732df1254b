// A workspace whose files are in memory.

import { createHash } from "node:crypto";
import { posix } from "node:path";
import { surroundings } from "../host/native.js";
import { HostError } from "../lib/errors.js";
import { MODIFIED_MS, find, matches, selection } from "./search.js";

/**
 * Stands in for the host's files: a tree in memory below the workspace, such as `new FakeFiles({ "src/main.js": "1;\n" })`.
 *
 * A search takes regular expressions of JavaScript, and looks at one line at a time. It knows no ignore files and no encodings, and takes
 * the name of a type for an extension, such as `js`. `find` finds no directories, and all files were changed at one time. Links to
 * shared files are made at the time 0, and the media types are those of `.txt` and of bytes.
 */
export class FakeFiles {
  #content = new Map();
  #failing = new Map();

  constructor(files = {}) {
    for (const [path, data] of Object.entries(files)) {
      this.#content.set(absolute(path), typeof data === "string" ? new TextEncoder().encode(data) : data);
    }
  }

  /** Lets everything fail that is done to this path, for example with the reason `denied`. */
  fails(path, reason, text) {
    this.#failing.set(absolute(path), new HostError(reason, text));
    return this;
  }

  /** Returns the content of a file as text; `undefined` if there is no such file. */
  text(path) {
    const data = this.#content.get(absolute(path));
    return data === undefined ? undefined : new TextDecoder().decode(data);
  }

  metadata(path) {
    const { realPath, data } = this.#find(path);
    const kind = data === undefined ? "directory" : "file";
    const size = data?.length ?? 0;
    return { kind, size, modifiedMs: MODIFIED_MS, version: versionOf(data ?? new Uint8Array()), identity: realPath, realPath };
  }

  read(path, offset, max) {
    const data = this.#file(path);
    const part = data.slice(offset, offset + Math.min(max, 4 << 20));
    return { data: part, size: data.length, version: versionOf(data), identity: absolute(path) };
  }

  skipLines(path, offset, lines) {
    const data = this.#file(path);
    let at = Math.min(offset, data.length);
    let gone = 0;
    while (gone < lines) {
      const end = data.indexOf(10, at);
      if (end < 0) return { offset: data.length, lines: gone, size: data.length };
      at = end + 1;
      gone++;
    }
    return { offset: at, lines: gone, size: data.length };
  }

  changeAll(writes, removals) {
    const paths = [...writes, ...removals].map(({ path }) => absolute(path));
    for (const [index, change] of [...writes, ...removals].entries()) {
      try {
        if (index < writes.length) this.#check(change);
        else if (![undefined, versionOf(this.#file(change.path))].includes(change.version)) {
          throw new HostError("changed", "file changed since it was read");
        }
        if (paths.indexOf(paths[index]) !== paths.lastIndexOf(paths[index])) {
          throw new HostError("invalid", "the same file is to be changed twice");
        }
      } catch (error) {
        error.index = index;
        throw error;
      }
    }
    for (const { path } of removals) this.#content.delete(absolute(path));
    for (const { path, data } of writes) this.#content.set(absolute(path), data);
    return writes.map(({ path }) => this.metadata(path));
  }

  readDirectory(path, after, max) {
    const { realPath, data } = this.#find(path);
    if (data !== undefined) throw new HostError("not-a-directory", "not a directory");
    const inside = `${realPath}/`;
    const rests = [...this.#content.keys()].filter((file) => file.startsWith(inside)).map((file) => file.slice(inside.length));
    const kinds = new Map(rests.map((rest) => [rest.split("/")[0], rest.includes("/") ? "directory" : "file"]));
    const names = [...kinds.keys()].sort().filter((name) => after === undefined || name > after);
    return { entries: names.slice(0, max).map((name) => ({ name, kind: kinds.get(name) })), more: names.length > max };
  }

  search(scope, text, page) {
    return matches(this.#below(scope), text, page);
  }

  find(scope, filter, page) {
    return find(this.#below(scope), filter, page);
  }

  share(path, lifetimeSecs = 86_400) {
    if (!(lifetimeSecs >= 60 && lifetimeSecs <= 604_800)) {
      throw new HostError("invalid", `a link lasts from 60 to 604800 seconds, not ${lifetimeSecs}`);
    }
    const data = this.#file(path);
    const name = posix.basename(absolute(path));
    const mediaType = name.endsWith(".txt") ? "text/plain" : "application/octet-stream";
    const url = `https://toolhost.example/v1/links/${versionOf(data)}/${name}`;
    return { url, expiresMs: lifetimeSecs * 1000, name, size: data.length, mediaType };
  }

  /** Returns the files of a search as pairs of a path, relative to the workspace, and its bytes. */
  #below(scope) {
    const { realPath, data } = this.#find(scope.path);
    if (data !== undefined) return [[shown(realPath), data]];
    const takes = selection(scope);
    const inside = `${realPath}/`;
    const files = [...this.#content].filter(([path]) => path.startsWith(inside) && takes(path.slice(inside.length)));
    return files.map(([path, content]) => [shown(path), content]).sort(([one], [other]) => (one < other ? -1 : 1));
  }

  /** Returns the absolute path, and what is there: `undefined` for a directory. */
  #find(path) {
    const realPath = absolute(path);
    const root = surroundings().workspaceRoot;
    if (this.#failing.has(realPath)) throw this.#failing.get(realPath);
    if (realPath !== root && !realPath.startsWith(`${root}/`)) {
      throw new HostError("outside-workspace", `${path} is outside of the workspace`);
    }
    const files = [...this.#content.keys()];
    if (this.#content.has(realPath)) return { realPath, data: this.#content.get(realPath) };
    if (realPath === root || files.some((file) => file.startsWith(`${realPath}/`))) return { realPath };
    if (files.some((file) => realPath.startsWith(`${file}/`))) throw new HostError("not-a-directory", "not a directory");
    throw new HostError("not-found", "no such file or directory");
  }

  #file(path) {
    const { data } = this.#find(path);
    if (data === undefined) throw new HostError("not-a-file", "not a file");
    return data;
  }

  #check({ path, absent, version }) {
    let data;
    try {
      data = this.#file(path);
    } catch (error) {
      if (error.reason !== "not-found") throw error;
    }
    if (absent && data !== undefined) throw new HostError("changed", "file exists");
    if (version !== undefined && (data === undefined || versionOf(data) !== version)) {
      throw new HostError("changed", "file changed since it was read");
    }
  }
}

/** Returns an absolute path relative to the workspace. */
const shown = (path) => posix.relative(surroundings().workspaceRoot, path);

const absolute = (path) => posix.resolve(surroundings().workspaceRoot, path);

const versionOf = (data) => `fake-${createHash("sha256").update(data).digest("hex").slice(0, 16)}`;

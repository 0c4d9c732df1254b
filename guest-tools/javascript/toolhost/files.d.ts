// Types of `toolhost/files`. Every function throws `HostError`.

export type Kind = "file" | "directory" | "symlink" | "other";

/** Facts about a path. `version` changes when the content does. */
export interface Metadata {
  kind: Kind;
  size: number;
  modifiedMs: number;
  version: string;
  identity: string;
  realPath: string;
}

/** A file to write: `absent` only a new one, `version` only over this version. */
export interface Write {
  path: string;
  data: string | Uint8Array;
  absent?: boolean;
  version?: string;
}

/** Returns facts about what a path names, following links. */
export declare function metadata(path: string): Metadata;
/** Returns whether there is something at a path. */
export declare function exists(path: string): boolean;
/** Returns at most `max` bytes of a file, from the byte `offset` on; never more than 4 MiB. */
export declare function read(
  path: string,
  offset?: number,
  max?: number,
): { data: Uint8Array; size: number; version: string; identity: string };
/** Returns the whole content of a file. */
export declare function readBytes(path: string): Uint8Array;
/** Returns the whole content of a file as text, with U+FFFD for what is not UTF-8. */
export declare function readText(path: string): string;
/** Goes over at most `lines` lines of a file, from the byte `offset` on, without reading them into the plugin. */
export declare function skipLines(path: string, offset: number, lines: number): { offset: number; lines: number; size: number };
/** Writes a file, and the directories above it. */
export declare function write(path: string, data: string | Uint8Array, options?: { absent?: boolean; version?: string }): Metadata;
/** Writes all of the files or none. The error of a file has its `index`. */
export declare function writeAll(writes: readonly Write[]): Metadata[];
/** Returns all names of a directory, in the order of their bytes. */
export declare function listDirectory(path?: string): { name: string; kind: Kind }[];
/**
 * Yields the paths of the files that fit a pattern, in which `*` and `?` stand for characters of one name, and `**` for any number of
 * directories. A name that begins with a dot fits only a part of the pattern that begins with one.
 */
export declare function walk(pattern?: string): Generator<string>;

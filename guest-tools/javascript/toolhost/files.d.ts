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

/** A file to remove: `version` only with this version. `movedTo` is the index of the write that moves it, which keeps its mode. */
export interface Removal {
  path: string;
  version?: string;
  movedTo?: number;
}

/** The files that a search goes over, and the page of its results. */
export interface ScopeOptions {
  /** The directory or file to begin at. Default: the workspace directory. */
  path?: string;
  /** Lines of a `.gitignore`: a file must fit one of those without `!`, and none of those with `!`. */
  globs?: readonly string[];
  /** Names of types as ripgrep has them, such as `rust`. */
  types?: readonly string[];
  /** Whether names that begin with a dot are searched. */
  hidden?: boolean;
  /** Whether files that a `.gitignore` names are searched. */
  ignored?: boolean;
  /** How many directories deep. The files of `path` itself have the depth 1. */
  maxDepth?: number;
  /** How many results are left out first. */
  skip?: number;
  /** The most results. Default: 1000. */
  max?: number;
}

export interface SearchOptions extends ScopeOptions {
  /** Whether the pattern is a text, and no regular expression. */
  literal?: boolean;
  /** How letters are compared. `smart`: as `any`, unless the pattern has a capital letter. Default: `exact`. */
  letterCase?: "exact" | "any" | "smart";
  /** Whether only whole words match. */
  words?: boolean;
  /** Whether a match may have several lines. */
  multiline?: boolean;
  /** The encoding of all files, such as `shift_jis`. Default: UTF-8, or UTF-16 if a byte order mark says so. */
  encoding?: string;
  /** How many lines before each match are returned. */
  before?: number;
  /** How many lines after each match are returned. */
  after?: number;
  /** The most bytes of a line. Default: 1024. */
  width?: number;
  /** Whether the results are files, without their lines. */
  filesOnly?: boolean;
}

/** The matches of a page, with the files in the order of their paths, and numbers for all files. */
export interface Matches {
  files: FileMatches[];
  /** How many files match in all. */
  totalFiles: number;
  /** How many lines match in all. */
  totalMatches: number;
  /** How many files were searched. */
  searched: number;
  /** How many files or directories could not be read. */
  unreadable: number;
  /** Whether results follow those of the page. */
  more: boolean;
}

/** A file that matches: its path, relative to the workspace directory; how many of its lines match; and the lines of the page. */
export interface FileMatches {
  path: string;
  matches: number;
  lines: Line[];
}

/** A line of a file that was searched. */
export interface Line {
  /** The number of the line, from 1. */
  number: number;
  text: string;
  /** Whether the line matches, and is not only near a match. */
  isMatch: boolean;
  /** Whether a part of the line is missing, because it is too long. */
  isCut: boolean;
}

export interface FindOptions extends ScopeOptions {
  kind?: Kind;
  /** The least bytes of a regular file. */
  minSize?: number;
  /** The most bytes of a regular file. */
  maxSize?: number;
  /** The file was changed at this time or later, in milliseconds since 1970. */
  sinceMs?: number;
  /** The file was changed before this time, in milliseconds since 1970. */
  untilMs?: number;
  /** Whether the files that were changed last come first. Otherwise they are in the order of their paths. */
  newestFirst?: boolean;
}

/** The files of a page. */
export interface Found {
  files: FoundFile[];
  /** How many files there are in all. */
  total: number;
  /** How many directories could not be read. */
  unreadable: number;
  /** Whether some follow those of the page. */
  more: boolean;
}

/** A file that was found. The path is relative to the workspace directory; the size is 0 unless it is a regular file. */
export interface FoundFile {
  path: string;
  kind: Kind;
  size: number;
  modifiedMs: number;
}

/** A link to a file, which a person opens without a token until `expiresMs`, in milliseconds since 1970; and facts about the file. */
export interface SharedFile {
  url: string;
  expiresMs: number;
  name: string;
  size: number;
  mediaType: string;
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
/** Removes a file, `version` only with this version. Of a link, the link is removed. */
export declare function remove(path: string, options?: { version?: string }): void;
/**
 * Writes and removes all of the files or none. A file is moved by writing its content to the new path and removing the old one. The error
 * of a file has its `index`, which counts on behind the writes for a removal.
 */
export declare function changeAll(writes: readonly Write[], removals: readonly Removal[]): Metadata[];
/** Returns all names of a directory, in the order of their bytes. */
export declare function listDirectory(path?: string): { name: string; kind: Kind }[];
/**
 * Yields the paths of the files that fit a pattern, in which `*` and `?` stand for characters of one name, and `**` for any number of
 * directories. A name that begins with a dot fits only a part of the pattern that begins with one.
 */
export declare function walk(pattern?: string): Generator<string>;
/** Searches files for a regular expression of the Rust crate `regex`, in the host. Binary files are left out. */
export declare function search(pattern: string, options?: SearchOptions): Matches;
/** Finds files and directories by their paths and facts, in the host. */
export declare function find(options?: FindOptions): Found;
/**
 * Makes a link by which the person that the chat is with gets a file, as the file is then. It ends after `lifetimeSecs`, from 60 to 604,800;
 * without it, after a day. If people cannot reach the host, the text of the error says what to do.
 */
export declare function share(path: string, options?: { lifetimeSecs?: number }): SharedFile;

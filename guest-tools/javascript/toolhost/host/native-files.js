// The files of a test.

import { fake } from "./native.js";

export const metadata = (path) => fake("files").metadata(path);
export const read = (path, offset, max) => fake("files").read(path, offset, max);
export const skipLines = (path, offset, lines) => fake("files").skipLines(path, offset, lines);
export const changeAll = (writes, removals) => fake("files").changeAll(writes, removals);
export const readDirectory = (path, after, max) => fake("files").readDirectory(path, after, max);
export const search = (scope, text, page) => fake("files").search(scope, text, page);
export const find = (scope, filter, page) => fake("files").find(scope, filter, page);
export const share = (path, lifetimeSecs) => fake("files").share(path, lifetimeSecs);

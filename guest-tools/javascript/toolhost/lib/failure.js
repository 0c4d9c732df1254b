// Exceptions that a tool does not catch, in words for the model and lines for the log.

/** Frames of this package, as they stand in a test; a component has its lines. */
const OF_PACKAGE = /\/toolhost\/(lib|host|testing)\//;

/** Returns type, message and place of an exception: `TypeError: x is null (plugin.ts:7)`. */
export function summary(error) {
  const [frame] = frames(error);
  return frame === undefined ? words(error) : `${words(error)} (${frame.place})`;
}

/** Returns what was thrown, and a line for each function of the author. */
export function lines(error) {
  const own = frames(error).map(({ name, place }) => `    at ${name} (${place})`);
  const cause = error instanceof Error && error.cause !== undefined ? [`caused by ${words(error.cause)}`] : [];
  return [...words(error).split("\n"), ...own, ...cause];
}

/** Returns whether the engine has no memory left. Then the host says which limit was reached. */
export const isOutOfMemory = (error) => error === null || /^(InternalError: )?out of memory$/.test(String(error));

function words(error) {
  if (error instanceof Error) return error.message === "" ? error.name : `${error.name}: ${error.message}`;
  return `thrown: ${typeof error === "object" ? JSON.stringify(error) : String(error)}`;
}

/** Returns name and place of the functions of the author, the innermost first; if there is none, those of all. */
function frames(error) {
  const stack = error instanceof Error && typeof error.stack === "string" ? error.stack : "";
  const all = stack.split("\n").map(frameOf).filter(Boolean);
  const own = all.filter(({ isOwn }) => isOwn);
  return own.length > 0 ? own : all;
}

/** Reads a frame: `at name (file:line:column)` or, in StarlingMonkey, `name@file:line:column`. */
function frameOf(text) {
  const [, before, file, line] = /^(.*?)([^\s(@]*):(\d+):\d+\)?$/.exec(text) ?? [];
  if (file === undefined) return undefined;
  const name = before.replace(/^\s*at |\s*\($|@$/g, "").trim() || "<anonymous>";
  // `toolhost plugin build` puts the lines of the author's files behind a bundle: those of the bundle say nothing.
  const place = globalThis.toolhostLines?.[line];
  if (place !== undefined) return { name, place, isOwn: true };
  const isOwn = globalThis.toolhostLines === undefined && !OF_PACKAGE.test(file) && !file.startsWith("node:");
  return { name, place: `${file.split("/").at(-1)}:${line}`, isOwn };
}

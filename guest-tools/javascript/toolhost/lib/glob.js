// Patterns of paths: `*` and `?` stand for characters of one name, and `**` for any number of directories.

/** Returns the directory from which the search begins, and functions that judge the names of what is below it. */
export function patternOf(text) {
  const parts = text.split("/");
  if (["", "**"].includes(parts.at(-1))) parts.splice(-1, 1, "**", "*");
  const wild = parts.findIndex((part) => /[*?]/.test(part));
  const fixed = wild < 0 ? parts.length - 1 : wild;
  const below = parts.slice(fixed).filter((part) => part !== ".");
  const entersHidden = below.some((part) => part.startsWith("."));
  return {
    directory: parts.slice(0, fixed).join("/") || (text.startsWith("/") ? "/" : "."),
    /** Returns whether files below this directory can fit. */
    goesInto: (names) => (entersHidden || !names.at(-1).startsWith(".")) && (below.includes("**") || names.length < below.length),
    /** Returns whether the path of a file fits. */
    fits: (names) => fits(below, names),
  };
}

function fits([part, ...parts], [name, ...names]) {
  if (part === undefined || name === undefined) return part === name;
  if (part === "**") return fits(parts, [name, ...names]) || (!name.startsWith(".") && fits([part, ...parts], names));
  return fitsName(part, name) && fits(parts, names);
}

function fitsName(part, name) {
  if (name.startsWith(".") && !part.startsWith(".")) return false;
  const expression = part.replace(/[\\^$.+()[\]{}|]/g, "\\$&").replaceAll("*", ".*").replaceAll("?", ".");
  return new RegExp(`^${expression}$`, "su").test(name);
}

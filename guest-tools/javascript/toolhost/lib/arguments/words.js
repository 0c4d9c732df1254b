// The words of errors about arguments. They are those of the SDK for Rust.

import { jaroWinkler } from "./likeness.js";
import { kindOf } from "./plain.js";

/** How alike an argument's name and an unknown one are at least for the one to be meant. */
const ALIKE = 0.75;

const NAMES = {
  string: "a string",
  integer: "an integer",
  number: "a number",
  boolean: "a boolean",
  null: "null",
  array: "an array",
  object: "an object",
};

/** Returns what a value is, with the value itself if it is short. */
export function found(value) {
  const kind = kindOf(value);
  if (kind === "string") {
    const letters = [...value];
    return `string ${JSON.stringify(letters.length <= 80 ? value : `${letters.slice(0, 80).join("")}…`)}`;
  }
  return ["null", "array", "object"].includes(kind) ? kind : `${kind} \`${value}\``;
}

/** Returns what a schema takes, in words. */
export function expected(node) {
  let kinds = Object.keys(NAMES).filter((kind) => kind !== "null" && node.allows(kind));
  if (kinds.includes("number")) kinds = kinds.filter((kind) => kind !== "integer");
  if (kinds.length === 1 && (kinds[0] === "integer" || kinds[0] === "number")) return number(NAMES[kinds[0]], node.schema);
  return kinds.length === 0 ? NAMES.null : oneOf(kinds.map((kind) => NAMES[kind]));
}

function number(name, { minimum, maximum, exclusiveMinimum, exclusiveMaximum }) {
  if (minimum !== undefined && maximum !== undefined) return `${name} from ${minimum} to ${maximum}`;
  const bounds = [];
  if (minimum !== undefined) bounds.push(`${minimum} or more`);
  if (maximum !== undefined) bounds.push(`${maximum} or less`);
  if (exclusiveMinimum !== undefined) bounds.push(`more than ${exclusiveMinimum}`);
  if (exclusiveMaximum !== undefined) bounds.push(`less than ${exclusiveMaximum}`);
  return bounds.length === 0 ? name : `${name} of ${bounds.join(" and ")}`;
}

/** Says that a value is none of those that a schema lists. */
export function notListed(value, values) {
  if (typeof value === "string") return `unknown variant \`${[...value].slice(0, 80).join("")}\`, expected ${listed(values)}`;
  return `invalid value: ${found(value)}, expected ${listed(values)}`;
}

function listed(values) {
  const present = values.filter((one) => one !== null);
  const quoted = present.map((one) => `\`${typeof one === "string" ? one : JSON.stringify(one)}\``);
  return quoted.length > 2 ? `one of ${quoted.join(", ")}` : quoted.join(" or ");
}

function oneOf(names) {
  return names.length === 1 ? names[0] : `${names.slice(0, -1).join(", ")} or ${names.at(-1)}`;
}

/** Says that an object has no such field. */
export function unknownField(name, known) {
  return `unknown field \`${name}\`, ${known.length > 0 ? `expected ${listed(known)}` : "there are no fields"}`;
}

/** Says that there is no such argument, and which one may be meant. */
export function unknownArgument(unknown, names) {
  const alike = (name) => {
    const isPart = Math.min(unknown.length, name.length) >= 3 && (unknown.includes(name) || name.includes(unknown));
    return Math.max(jaroWinkler(unknown, name), isPart ? ALIKE : 0);
  };
  const nearest = [...names].sort((one, other) => alike(other) - alike(one))[0];
  const meant = nearest !== undefined && alike(nearest) >= ALIKE ? `; did you mean \`${nearest}\`?` : ".";
  const known = names.length > 0 ? `The arguments are ${names.map((name) => `\`${name}\``).join(", ")}.` : "This tool takes none.";
  return `there is no argument \`${unknown}\`${meant} ${known}`;
}

export function count(number, unit) {
  return number === 1 ? `${number} ${unit}` : `${number} ${unit}s`;
}

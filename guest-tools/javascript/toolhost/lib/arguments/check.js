// Compares arguments with their schema, and says what does not fit.

import { kindOf } from "./plain.js";
import * as words from "./words.js";

const CHECKS = { integer: ofNumber, number: ofNumber, string: ofText, array: ofArray, object: ofObject };

/** Returns a sentence about the first thing that does not fit; `undefined` if everything does. */
export function problem(given, schema) {
  const { value } = problems(given, schema, "").next();
  if (value === undefined) return undefined;
  const { path, reason, isUnknown } = value;
  // What is missing or unknown at the top is named by the reason.
  if (path === "") return `invalid arguments: ${reason}`;
  if (isUnknown && !/[.[]/.test(path)) {
    return `invalid arguments: ${words.unknownArgument(path, Object.keys(schema.schema.properties ?? {}))}`;
  }
  return `invalid argument \`${path}\`: ${reason}`;
}

/** Yields what does not fit: where, why, and whether there is no such field. */
function* problems(value, node, path) {
  if (node.isFalse) {
    yield { path, reason: "nothing is allowed here" };
    return;
  }
  const alternatives = node.each("anyOf", "oneOf");
  if (alternatives.length > 0) yield* ofAlternatives(value, alternatives, path);
  for (const part of node.each("allOf")) yield* problems(value, part, path);
  const kind = kindOf(value);
  if (!node.allows(kind) && !(kind === "integer" && node.allows("number"))) {
    yield { path, reason: `invalid type: ${words.found(value)}, expected ${words.expected(node)}` };
    return;
  }
  const values = node.values();
  if (values !== undefined && !values.some((one) => same(value, one))) {
    yield { path, reason: words.notListed(value, values) };
    return;
  }
  if (CHECKS[kind] !== undefined) yield* CHECKS[kind](value, node, path);
}

function* ofAlternatives(value, alternatives, path) {
  const found = alternatives.map((one) => [...problems(value, one, path)]);
  if (found.some((one) => one.length === 0)) return;
  const meant = found.filter((_, at) => alternatives[at].isMeantBy(value));
  if (meant.length === 1) yield* meant[0];
  else yield { path, reason: "it has none of the forms that this argument can have" };
}

function* ofNumber(value, node, path) {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf } = node.schema;
  const fits = !(value < minimum || value > maximum || value <= exclusiveMinimum || value >= exclusiveMaximum);
  if (!fits) yield { path, reason: `invalid value: ${words.found(value)}, expected ${words.expected(node)}` };
  if (fits && multipleOf > 0 && value % multipleOf !== 0) {
    yield { path, reason: `invalid value: ${words.found(value)}, expected a multiple of ${multipleOf}` };
  }
}

function* ofText(value, node, path) {
  const { minLength, maxLength, pattern } = node.schema;
  yield* ofLength([...value].length, minLength, maxLength, path, "character");
  if (pattern !== undefined && !new RegExp(pattern, "u").test(value)) {
    yield { path, reason: `invalid value: ${words.found(value)}, expected a string that matches \`${pattern}\`` };
  }
}

function* ofArray(value, node, path) {
  const { minItems, maxItems, items = true, prefixItems = [], uniqueItems } = node.schema;
  yield* ofLength(value.length, minItems, maxItems, path, "item");
  if (items === false && value.length > prefixItems.length) {
    const most = words.count(prefixItems.length, "item");
    yield { path, reason: `invalid length ${value.length}, expected ${most}` };
  }
  for (const [at, item] of value.entries()) {
    yield* problems(item, node.of(prefixItems[at] ?? items), `${path}[${at}]`);
  }
  if (uniqueItems && value.some((one, at) => value.slice(0, at).some((other) => same(one, other)))) {
    yield { path, reason: "invalid value: an item is there twice, expected different items" };
  }
}

function* ofLength(length, least = 0, most = Infinity, path, unit) {
  if (length < least) yield { path, reason: `invalid length ${length}, expected at least ${words.count(least, unit)}` };
  if (length > most) yield { path, reason: `invalid length ${length}, expected at most ${words.count(most, unit)}` };
}

function* ofObject(value, node, path) {
  const { properties = {}, additionalProperties = true, required = [] } = node.schema;
  for (const [name, item] of Object.entries(value)) {
    const within = path === "" ? name : `${path}.${name}`;
    const property = node.property(name);
    if (property !== undefined) yield* problems(item, property, within);
    else if (additionalProperties === false) {
      yield { path: within, reason: words.unknownField(name, Object.keys(properties)), isUnknown: true };
    } else yield* problems(item, node.of(additionalProperties), within);
  }
  for (const name of required) {
    if (!Object.hasOwn(value, name)) yield { path, reason: `missing field \`${name}\`` };
  }
}

/** Returns whether two JSON values are equal. */
function same(one, other) {
  return one === other || (kindOf(one) === kindOf(other) && typeof one === "object" && JSON.stringify(one) === JSON.stringify(other));
}

// Filters and searches in the address of the page, after its "?": a reload, a link, and back and forward restore them.

import { useEffect, useState } from "./html.js";

/**
 * The fields of a query, each with its default: a text, or the first of the choices that it allows.
 * @typedef {Record<string, string | string[]>} Fields
 */

/** @param {string | string[]} field */
const defaultOf = (field) => (Array.isArray(field) ? field[0] : field);

/** Reads the fields from the address. Choices that a field does not allow are its default. @param {Fields} fields @returns {Record<string, string>} */
function read(fields) {
  const given = new URLSearchParams(location.hash.split("?")[1] ?? "");
  const values = Object.entries(fields).map(([name, field]) => {
    const value = given.get(name);
    const isAllowed = value !== null && (!Array.isArray(field) || field.includes(value));
    return [name, isAllowed ? value : defaultOf(field)];
  });
  return Object.fromEntries(values);
}

/**
 * Returns the values of these fields in the address, and a function that changes some of them there.
 * @param {Fields} fields
 * @returns {[Record<string, string>, (changes: Record<string, string>) => void]}
 */
export function useQuery(fields) {
  const [values, set] = useState(() => read(fields));
  useEffect(() => {
    const changed = () => {
      const next = read(fields);
      set((before) => (JSON.stringify(before) === JSON.stringify(next) ? before : next));
    };
    window.addEventListener("hashchange", changed);
    return () => window.removeEventListener("hashchange", changed);
  }, []);
  const change = (/** @type {Record<string, string>} */ changes) => {
    const given = Object.entries({ ...values, ...changes }).filter(([name, value]) => value !== defaultOf(fields[name]));
    const query = new URLSearchParams(given).toString();
    location.hash = (location.hash.split("?")[0] || "#/now") + (query ? `?${query}` : "");
  };
  return [values, change];
}

/** The text of a field until it is sent. It follows the address. @param {string} value @returns {[string, (text: string) => void]} */
export function useDraft(value) {
  const [draft, set] = useState(value);
  useEffect(() => set(value), [value]);
  return [draft, set];
}

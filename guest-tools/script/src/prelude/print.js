// What `console` and JSON need for other values than the usual ones.
(() => {
  "use strict";

  /** Returns a value that has no JSON, such as one that contains itself. */
  const inspect = (value, depth = 0, around = []) => {
    if (typeof value === "string") return depth === 0 ? value : JSON.stringify(value);
    if (typeof value === "bigint") return `${value}n`;
    if (typeof value === "function") return `[Function: ${value.name || "(anonymous)"}]`;
    if (typeof value !== "object" || value === null) return String(value);
    if (around.includes(value)) return "[Circular]";
    if (depth > 4) return Array.isArray(value) ? "[Array]" : "[Object]";
    const inner = (value) => inspect(value, depth + 1, [...around, value]);
    const within = (values) => inspectAll(values, (other) => inspect(other, depth + 1, [...around, value]));
    if (Array.isArray(value)) return `[${within(value)}]`;
    if (value instanceof Error) return String(value);
    if (value instanceof Promise) return "Promise { <pending> }";
    if (value instanceof Date) return Number.isNaN(value.getTime()) ? "Invalid Date" : value.toISOString();
    if (value instanceof Set) return `Set {${within([...value])}}`;
    const entries = value instanceof Map ? [...value] : Object.keys(value).map((key) => [key, Object.getOwnPropertyDescriptor(value, key).value]);
    const pairs = entries.map(([key, other]) => `${inner(key)}:${inspect(other, depth + 1, [...around, value])}`);
    return `${value instanceof Map ? "Map " : ""}{${pairs.slice(0, 100).join(",")}}`;
  };
  const inspectAll = (values, inner) => {
    const all = values.slice(0, 100).map(inner);
    if (values.length > 100) all.push(`… ${values.length - 100} more`);
    return all.join(",");
  };

  /** Replaces `%s`, `%d`, `%i`, `%f`, `%j`, `%o`, `%O`, `%c` and `%%` as Node.js does. */
  const format = ([pattern, ...values], show) => {
    let next = 0;
    const number = (value) => (typeof value === "bigint" ? `${value}n` : typeof value === "object" ? "NaN" : null);
    const text = pattern.replace(/%[sdifjoOc%]/g, (mark) => {
      if (mark === "%%") return "%";
      if (next >= values.length) return mark;
      const value = values[next++];
      switch (mark) {
        case "%d":
          return number(value) ?? String(Number(value));
        case "%i":
          return number(value) ?? String(Number.parseInt(value, 10));
        case "%f":
          return String(Number.parseFloat(value));
        case "%c":
          return "";
        default:
          return show(value);
      }
    });
    return [text, ...values.slice(next).map(show)].join(" ");
  };

  /** Returns rows as a table with frames, as Node.js prints one. */
  const table = (rows, columns, show) => {
    if (typeof rows !== "object" || rows === null) return show(rows);
    const entries = rows instanceof Map ? [...rows] : Object.entries(rows instanceof Set ? [...rows] : rows);
    const isRow = (value) => typeof value === "object" && value !== null;
    const names = columns ?? [...new Set(entries.flatMap(([, row]) => (isRow(row) ? Object.keys(row) : [])))];
    const hasValues = entries.some(([, row]) => !isRow(row));
    const cell = (value) => (typeof value === "string" ? `'${value}'` : show(value));
    const lines = entries.map(([index, row]) => [
      String(index),
      ...names.map((name) => (isRow(row) && name in row ? cell(row[name]) : "")),
      ...(hasValues ? [isRow(row) ? "" : cell(row)] : []),
    ]);
    const head = ["(index)", ...names.map(String), ...(hasValues ? ["Values"] : [])];
    const widths = head.map((name, at) => Math.max(name.length, ...lines.map((line) => line[at].length)) + 2);
    const frame = (left, middle, right) => left + widths.map((width) => "─".repeat(width)).join(middle) + right;
    const row = (cells) => `│${cells.map((text, at) => ` ${text}`.padEnd(widths[at])).join("│")}│`;
    return [frame("┌", "┬", "┐"), row(head), frame("├", "┼", "┤"), ...lines.map(row), frame("└", "┴", "┘")].join("\n");
  };

  /** Returns an error that says why a text is no JSON. */
  const noJson = (text, error) => {
    const said = (message) => Object.assign(new SyntaxError(message), { stack: error.stack });
    if (typeof text === "object" && text !== null)
      return said("JSON.parse takes a text, and was given an object: the reply of a tool is a value already");
    if (text === undefined) return said("JSON.parse was given undefined: the text that it should read is missing");
    const all = String(text);
    if (/\.\.\. \[(omitted \d+ bytes|truncated)\]/.test(all))
      return said("the text is no JSON, because it was cut: bytes of the output of the tool are left out of it. Have the command print less (jq can select), or write to a file, and read that with tools.read_file");
    const start = all.length > 40 ? `${all.slice(0, 40)}…` : all;
    return said(`${error.message}: ${JSON.stringify(start)} is not valid JSON`);
  };

  return { inspect, format, table, noJson };
})

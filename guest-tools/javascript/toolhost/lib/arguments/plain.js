// Makes arguments plain: what models write in several ways becomes what the schema of the arguments asks for.
//
// Nothing is guessed. A value changes only where it cannot mean anything else, because the schema refuses it as it is:
//
// | a model writes | where the schema has | it becomes |
// |---|---|---|
// | `1.0`, `2e3` | anything | `1`, `2000` |
// | `null` | a property that cannot be null | the property is left out |
// | `""` | an optional property that is no text, or no empty one (`minLength`, `enum`) | the property is left out |
// | `"30"` | a number, and no text | `30` |
// | `"true"`, `"False"` | a boolean, and no text | `true`, `false` |
// | `"[…]"`, `"{…}"` | an array or an object, and no text | the JSON in the text |
// | `{…}`, as a text too | an array of objects, and no object | the array with it |

/** A schema, within the one that has the definitions. */
export class Node {
  constructor(schema, root) {
    // Only a definition that is itself could go on for ever.
    for (let step = 0; step < 8; step++) {
      const target = resolve(schema, root);
      if (target === undefined) break;
      schema = target;
    }
    this.isFalse = schema === false;
    this.schema = schema !== null && typeof schema === "object" ? schema : {};
    this.root = root;
  }

  static ofRoot(schema) {
    return new Node(schema, schema);
  }

  of(schema) {
    return new Node(schema, this.root);
  }

  /** Returns the schemas in lists of schemas. */
  each(...names) {
    return names.flatMap((name) => this.schema[name] ?? []).map((one) => this.of(one));
  }

  /** Returns the schema of a property; `undefined` if it has none. */
  property(name) {
    const { properties } = this.schema;
    return properties !== undefined && Object.hasOwn(properties, name) ? this.of(properties[name]) : undefined;
  }

  /** Returns the values that fit, if the schema lists them. */
  values() {
    return this.schema.const !== undefined ? [this.schema.const] : this.schema.enum;
  }

  /** Returns whether values of this type fit. */
  allows(kind) {
    const { type } = this.schema;
    const values = this.values();
    const fits =
      type === undefined ? values === undefined || values.some((one) => kindOf(one) === kind) : [type].flat().includes(kind);
    const alternatives = this.each("anyOf", "oneOf");
    return (
      fits &&
      this.each("allOf").every((one) => one.allows(kind)) &&
      (alternatives.length === 0 || alternatives.some((one) => one.allows(kind)))
    );
  }

  allowsNumber() {
    return this.allows("integer") || this.allows("number");
  }

  /** Returns whether arrays of objects fit, and no object alone. */
  isListOfObjects() {
    const items = this.of(this.schema.items ?? true);
    const isList = this.allows("array") && !this.allows("object");
    return isList && items.allows("object") && !items.allows("array");
  }

  /** Returns whether a text without characters fits. */
  allowsEmpty() {
    const values = this.values();
    const alternatives = this.each("anyOf", "oneOf");
    return (
      this.allows("string") &&
      !(this.schema.minLength > 0) &&
      (values === undefined || values.includes("")) &&
      (alternatives.length === 0 || alternatives.some((one) => one.allowsEmpty())) &&
      this.each("allOf").every((one) => one.allowsEmpty())
    );
  }

  requires(name) {
    return this.schema.required?.includes(name) ?? false;
  }

  /** Returns a value made plain. */
  plain(value) {
    if (typeof value === "string" && !this.allows("string")) value = this.read(value);
    if (kindOf(value) === "object" && this.isListOfObjects()) value = [value];
    if (Array.isArray(value)) {
      const items = this.of(this.schema.items ?? true);
      value = value.map((item) => items.plain(item));
    } else if (kindOf(value) === "object") {
      value = this.fields(value);
    }
    const meant = this.each("anyOf", "oneOf").find((one) => one.isMeantBy(value));
    return [...this.each("allOf"), ...(meant ? [meant] : [])].reduce((made, one) => one.plain(made), value);
  }

  /** Returns what a text says where no text is allowed; the text, if that is nothing. */
  read(text) {
    const trimmed = text.trim();
    const lower = trimmed.toLowerCase();
    if (this.allows("boolean") && (lower === "true" || lower === "false")) return lower === "true";
    let value;
    try {
      value = JSON.parse(trimmed);
    } catch (error) {
      if (!(error instanceof SyntaxError)) throw error;
      return text;
    }
    const kind = kindOf(value);
    if (kind === "integer" || kind === "number") return this.allowsNumber() ? value : text;
    const fits = this.allows(kind) || (kind === "object" && this.isListOfObjects());
    return (kind === "array" || kind === "object") && fits ? value : text;
  }

  fields(fields) {
    const others = this.of(this.schema.additionalProperties ?? true);
    const made = {};
    for (const [name, value] of Object.entries(fields)) {
      const node = this.property(name);
      if (node === undefined) {
        set(made, name, others.plain(value));
        continue;
      }
      const saysNothing =
        (value === null && !node.allows("null")) || (value === "" && !this.requires(name) && !node.allowsEmpty());
      if (!saysNothing) set(made, name, node.plain(value));
    }
    return made;
  }

  /**
   * Returns whether a value is written for this one of several schemas: its type fits, and so does each property that has a fixed
   * value.
   */
  isMeantBy(value) {
    const kind = kindOf(value);
    if (!this.allows(kind) && !(kind === "integer" && this.allowsNumber())) return false;
    if (kind !== "object") return true;
    return Object.entries(this.schema.properties ?? {}).every(([name, one]) => {
      const values = this.of(one).values();
      return values === undefined || !Object.hasOwn(value, name) || values.includes(value[name]);
    });
  }
}

/** Sets a property, also one of the name `__proto__`. */
function set(object, name, value) {
  Object.defineProperty(object, name, { value, enumerable: true, writable: true, configurable: true });
}

/** Returns the definition that a schema refers to; `undefined` if it refers to none. */
function resolve(schema, root) {
  const reference = schema?.$ref;
  if (typeof reference !== "string" || !reference.startsWith("#")) return undefined;
  const names = reference.slice(1).split("/").slice(1);
  return names.map((name) => name.replaceAll("~1", "/").replaceAll("~0", "~")).reduce((at, name) => at?.[name], root);
}

/** Returns the type that a schema names a value by. */
export function kindOf(value) {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  if (typeof value === "number") return Number.isInteger(value) ? "integer" : "number";
  return typeof value;
}

// A small builder of JSON Schemas, whose static types TypeScript infers.

/** A type of values. Its methods return new types. */
export class Type {
  constructor(schema, isOptional = false) {
    this.schema = schema;
    this.isOptional = isOptional;
  }

  /** Lets the property be left out. */
  optional() {
    return new Type(this.schema, true);
  }

  /** Lets the property be left out, and gives it a value then. */
  default(value) {
    return new Type({ ...this.schema, default: value }, true);
  }

  /** Lets the value be null, too. */
  nullable() {
    const { type } = this.schema;
    const schema =
      typeof type === "string" ? { ...this.schema, type: [type, "null"] } : { anyOf: [this.schema, { type: "null" }] };
    if (schema.enum !== undefined) schema.enum = [...schema.enum, null];
    return new Type(schema, this.isOptional);
  }

  /** Says what the value is, for the model. */
  describe(description) {
    return new Type({ ...this.schema, description }, this.isOptional);
  }
}

const of = (schema, description, keywords) =>
  new Type({ ...schema, ...keywords, ...(description === undefined ? {} : { description }) });

/** Makes types. A description comes last, or second to last before further keywords of JSON Schema such as `minimum`. */
export const t = {
  string: (description, keywords) => of({ type: "string" }, description, keywords),
  number: (description, keywords) => of({ type: "number" }, description, keywords),
  integer: (description, keywords) => of({ type: "integer" }, description, keywords),
  boolean: (description, keywords) => of({ type: "boolean" }, description, keywords),
  any: (description) => of({}, description),
  enum: (values, description) => of({ type: kind(values), enum: [...values] }, description),
  literal: (value, description) => of({ const: value }, description),
  array: (item, description, keywords) => of({ type: "array", items: item.schema }, description, keywords),
  record: (item, description) => of({ type: "object", additionalProperties: item.schema }, description),
  object: (shape, description) => of(objectSchema(shape), description),
  union: (...types) => new Type({ anyOf: types.map((one) => one.schema) }),
  schema: (schema) => new Type(schema),
};

/** Returns the schema of an object with these properties and no others. */
export function objectSchema(shape) {
  const properties = Object.fromEntries(Object.entries(shape).map(([name, type]) => [name, type.schema]));
  const required = Object.keys(shape).filter((name) => !shape[name].isOptional);
  return { type: "object", properties, ...(required.length > 0 ? { required } : {}), additionalProperties: false };
}

/** Returns the schema of what an author gave: an object of types, one type, or a schema as it is. */
export function schemaOf(given) {
  if (given instanceof Type) return given.schema;
  return Object.values(given).every((one) => one instanceof Type) ? objectSchema(given) : given;
}

function kind(values) {
  const kinds = new Set(values.map((value) => (Number.isInteger(value) ? "integer" : typeof value)));
  return kinds.size === 1 ? [...kinds][0] : [...kinds];
}

// The defaults of a schema.

/** Returns a value with the defaults of the properties that are missing in it, at any depth. */
export function withDefaults(value, schema) {
  if (Array.isArray(value)) return schema.items ? value.map((item) => withDefaults(item, schema.items)) : value;
  if (value === null || typeof value !== "object" || schema.properties === undefined) return value;
  const made = { ...value };
  for (const [name, property] of Object.entries(schema.properties)) {
    if (Object.hasOwn(made, name)) made[name] = withDefaults(made[name], property);
    else if (property.default !== undefined) made[name] = property.default;
  }
  return made;
}

// Shows schemas in messages of tests.

/** A schema in few words. */
export function outline(schema: unknown, depth = 6): string {
  const { type, pipe, ...node } = schema as Record<string, unknown> & { pipe?: unknown[] };
  const within = (part: unknown): string => {
    if (depth === 0) return "…";
    if (typeof part === "function") return "() => …";
    if (Array.isArray(part)) return `[${part.map(within).join(", ")}]`;
    if (typeof part !== "object" || part === null || part instanceof RegExp) return String(part);
    if ("kind" in part) return outline(part, depth - 1);
    return `{ ${Object.entries(part).map(([key, value]) => `${key}: ${within(value)}`).join(", ")} }`;
  };
  const own = "fallback" in node ? `fallback ${within(node.fallback)} ` : "";
  if (pipe) return `${own}pipe(${pipe.map(within).join(", ")})`;
  const said = [
    "entries",
    "rest",
    "item",
    "items",
    "key",
    "value",
    "options",
    "wrapped",
    "default",
    "literal",
    "requirement",
  ]
    .filter((name) => node[name] !== undefined)
    .map((name) => `${name} ${within(node[name])}`);
  return `${own}${type}${said.length > 0 ? `(${said.join(", ")})` : ""}`;
}

/** Describes the schema of a setting in words, and makes up a text that it accepts. */
import { fallsBack, LISTS, type PipeAction, type SchemaNode } from "./schema.ts";

/** A setting for a file `.env.example`. The command line reads it, perhaps of another release. */
export interface SettingDescription {
  readonly name: string;
  readonly isRequired: boolean;
  /** What its value must be. */
  readonly type: string;
  /** What it is for, as the schema says. */
  readonly description: string | undefined;
  /** The default as text; undefined if there is none, or it is made by a function. */
  readonly default: string | undefined;
}

export function describeSetting(name: string, node: SchemaNode): SettingDescription {
  return {
    name,
    isRequired: !mayBeAbsent(node),
    type: typeOf(node),
    description: descriptionOf(node),
    default: toText(defaultOf(node)),
  };
}

/** Whether an object schema takes an object without the key of this schema. */
export function mayBeAbsent(node: SchemaNode): boolean {
  return ["optional", "exact_optional", "nullish"].includes(node.type) || fallsBack(node);
}

/**
 * The first of some texts that a schema accepts, for a program that is only looked at; undefined if
 * it accepts none of them. A URL is the first: it is also a text that `new URL()` takes.
 */
export function standIn(node: SchemaNode, accepts: (text: string) => boolean): string | undefined {
  return [...constantsOf(node), ...STAND_INS].find(accepts);
}

const STAND_INS = [
  "http://localhost/",
  "1",
  "8000",
  "true",
  "localhost",
  "user@example.com",
  "00000000-0000-4000-8000-000000000000",
  "127.0.0.1",
  "2000-01-01",
  "2000-01-01T00:00:00Z",
  "{}",
  "x".repeat(32),
  "0".repeat(32),
  "0".repeat(64),
  "",
];

/** The messages that a schema gives for faults, without those that a function makes. */
export function messagesOf(node: SchemaNode): ReadonlySet<string> {
  const messages = new Set<string>();
  const collect = (part: unknown): void => {
    if (typeof part !== "object" || part === null) return;
    const { message, pipe, wrapped, item, items = [], options = [], entries = {} } = part as SchemaNode;
    if (typeof message === "string") messages.add(message);
    // The first step of a pipe has all properties of the pipe but `pipe` itself.
    for (const inner of [...pipe ?? [], wrapped, item, ...items, ...options, ...Object.values(entries)]) collect(inner);
  };
  collect(node);
  return messages;
}

function typeOf(node: SchemaNode): string {
  const { wrapped, pipe } = node;
  if (pipe) {
    const [first, ...steps] = pipe;
    return [typeOf(first as SchemaNode), ...steps.flatMap(demandOf)].join(", ");
  }
  if (wrapped) return typeOf(wrapped);
  if (node.type === "boolean") return "true or false";
  if (LISTS.has(node.type)) return `list, separated by commas${node.item ? `, of: ${typeOf(node.item)}` : ""}`;
  const constants = constantsOf(node);
  if (constants.length > 0) return `one of ${constants.join(", ")}`;
  return node.type === "union" ? (node.options as SchemaNode[]).map(typeOf).join(" or ") : node.expects ?? node.type;
}

/** What a step of a pipe asks for. */
function demandOf(step: SchemaNode | PipeAction): string[] {
  if (step.kind !== "validation") return [];
  const { type, expects, message } = step as PipeAction & {
    readonly expects: string | null;
    readonly message: unknown;
  };
  const words = type.replaceAll("_", " ");
  if (type === "check" || type === "custom" || type === "raw_check") {
    return typeof message === "string" ? [message] : [];
  }
  return [type === "non_empty" ? "not empty" : expects === null ? words : `${words} ${expects}`];
}

/** The texts of the values that a schema lists. */
function constantsOf(node: SchemaNode): string[] {
  if (node.wrapped && !node.pipe) return constantsOf(node.wrapped);
  const values = node.type === "literal"
    ? [node.literal]
    : ["picklist", "enum"].includes(node.type)
    ? node.options!
    : [];
  return values.map((value) => toText(value)).filter((text) => text !== undefined);
}

function descriptionOf({ pipe = [], wrapped }: SchemaNode): string | undefined {
  for (const step of pipe) {
    const { type, description } = step as { readonly type: string; readonly description?: unknown };
    if (type === "description" && typeof description === "string") return description;
  }
  const inner = pipe[0] as SchemaNode | undefined ?? wrapped;
  return inner && descriptionOf(inner);
}

function defaultOf(node: SchemaNode): unknown {
  const value = node.default ?? (fallsBack(node) ? node.fallback : undefined);
  return value ?? (node.pipe && node.pipe[0] !== node ? defaultOf(node.pipe[0] as SchemaNode) : undefined);
}

/** A value as the text of a variable; undefined if it has none. */
function toText(value: unknown): string | undefined {
  if (Array.isArray(value)) {
    const texts = value.map(toText);
    return texts.every((text) => text !== undefined && !text.includes(",")) ? texts.join(",") : undefined;
  }
  return ["string", "number", "boolean", "bigint"].includes(typeof value) ? String(value) : undefined;
}

/** Checks, when a model is declared, that JSON can carry it: a document is made whole, or not at all. */
import { partsOf } from "../../schema/parts.ts";
import { nodeOf, type Schema, type SchemaNode } from "../../schema/schema.ts";
import { lazyTarget } from "../../schema/lazy_schema.ts";
import type { Form } from "./model_scope.ts";
import { Models } from "./models.ts";

/** Kinds that JSON cannot carry, or not always. */
const FOREIGN: ReadonlySet<string> = new Set([
  "blob",
  "date",
  "file",
  "function",
  "instance",
  "map",
  "nan",
  "promise",
  "set",
  "symbol",
]);

/** What JSON carries of them where it is sent. */
const SENDABLE: ReadonlySet<string> = new Set(["date", "instance", "nan"]);

/** As many lazy schemas within one another as are followed: one that makes a new one each time goes on for ever. */
const MAX_LAZY = 64;

/** The schemas of which it is known. */
const carried: Readonly<Record<Form, WeakSet<SchemaNode>>> = { input: new WeakSet(), output: new WeakSet() };

/**
 * Checks a model.
 *
 * @param form Whether it is accepted, or sent.
 * @param model The model.
 * @param role What messages call it where it has no title.
 * @returns Why JSON cannot carry a part of it, if that is so: an `Error` of the getter of a lazy schema, or a `TypeError` whose
 * message begins with "Cannot describe".
 */
export function faultOf(form: Form, model: Schema, role: string): Error | undefined {
  if (isPlain(form, model)) return undefined;
  const models = new Models("#/");
  try {
    if (form === "input") models.jsonInput(model, role);
    else models.jsonOutput(model, role);
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    return error;
  }
  return undefined;
}

/**
 * Checks a model, unless it cannot be told yet: the getter of a lazy schema may throw, as long as what it gives is not there.
 *
 * @param form Whether it is accepted, or sent.
 * @param model The model.
 * @param role What messages call it where it has no title.
 * @param action What is being done, for messages.
 * @throws {TypeError} When JSON cannot carry a part of it.
 */
export function checkJson(form: Form, model: Schema, role: string, action: string): void {
  const fault = faultOf(form, model, role);
  if (!(fault instanceof TypeError) || !fault.message.startsWith("Cannot describe ")) return;
  throw new TypeError(`Cannot ${action}: ${fault.message.replace("Cannot", "cannot")}`);
}

/** Whether it is seen at a look at each of its parts that JSON can carry a model. To describe it takes a hundred times as long. */
function isPlain(form: Form, model: Schema): boolean {
  const seen = new Set<SchemaNode>();
  const isCarried = (node: SchemaNode, lazies: number): boolean => {
    if (carried[form].has(node) || seen.has(node)) return true;
    seen.add(node);
    if (FOREIGN.has(node.type) && !(form === "output" && SENDABLE.has(node.type))) return false;
    if (node.type !== "lazy") return partsOf(node).every((part) => isCarried(part, lazies));
    const target = lazies < MAX_LAZY ? targetOf(node) : undefined;
    return target !== undefined && isCarried(target, lazies + 1);
  };
  if (!isCarried(nodeOf(model), 0)) return false;
  for (const node of seen) carried[form].add(node);
  return true;
}

/** What a lazy schema stands for, where that can be told, and is there already. */
function targetOf(node: SchemaNode): SchemaNode | undefined {
  try {
    return lazyTarget(node);
  } catch {
    return undefined;
  }
}

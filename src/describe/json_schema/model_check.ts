/** Checks, when a model is declared, that JSON can carry it. */
import { lazyTarget, nodeOf, partsOf, type Schema, type SchemaNode } from "../../schema/schema.ts";
import type { Form } from "./json_schema.ts";
import { Models } from "./models.ts";
import { isRefused } from "./non_json.ts";

/** How deep lazy schemas are checked: one can make a new schema each time, without end. */
const MAX_LAZY = 64;

/** The schemas that are known to be JSON. */
const carried: Readonly<Record<Form, WeakSet<SchemaNode>>> = { input: new WeakSet(), output: new WeakSet() };

/**
 * Checks, when a model is declared, that JSON can carry it.
 *
 * @param form Whether it is accepted, or sent.
 * @param model The model.
 * @param role What messages call it where it has no title.
 * @returns Why JSON cannot carry a part of it, if so: an `Error` of the getter of a lazy schema, or
 * a `TypeError` whose message begins with "Cannot describe".
 */
export function faultOf(form: Form, model: Schema, role: string): Error | undefined {
  if (isCarried(form, model)) return undefined;
  try {
    const models = new Models("#/");
    if (form === "input") models.jsonInput(model, role);
    else models.jsonOutput(model, role);
  } catch (error) {
    if (error instanceof Error) return error;
    throw error;
  }
  return undefined;
}

/**
 * Checks a model. Where the getter of a lazy schema throws, its schema may be declared later.
 *
 * @param form Whether it is accepted, or sent.
 * @param model The model.
 * @param role What messages call it where it has no title.
 * @param action What is being done, for messages.
 * @throws {TypeError} If JSON cannot carry a part of it.
 */
export function checkJson(form: Form, model: Schema, role: string, action: string): void {
  const fault = faultOf(form, model, role);
  if (!(fault instanceof TypeError) || !fault.message.startsWith("Cannot describe ")) return;
  throw new TypeError(`Cannot ${action}: ${fault.message.replace("Cannot", "cannot")}`);
}

/** Whether no part of a model is refused. Takes a hundredth of the time of a conversion. */
function isCarried(form: Form, model: Schema): boolean {
  const seen = new Set<SchemaNode>();
  const isNodeCarried = (node: SchemaNode, lazies: number): boolean => {
    if (carried[form].has(node) || seen.has(node)) return true;
    seen.add(node);
    if (isRefused(node, form)) return false;
    if (node.type !== "lazy") return partsOf(node).every((part) => isNodeCarried(part, lazies));
    const target = lazies < MAX_LAZY ? targetOf(node) : undefined;
    return target !== undefined && isNodeCarried(target, lazies + 1);
  };
  if (!isNodeCarried(nodeOf(model), 0)) return false;
  for (const node of seen) carried[form].add(node);
  return true;
}

/** What a lazy schema stands for, where that is known and declared already. */
function targetOf(node: SchemaNode): SchemaNode | undefined {
  try {
    return lazyTarget(node);
  } catch {
    return undefined;
  }
}

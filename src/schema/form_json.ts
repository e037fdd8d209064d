/**
 * Objects of forms, and lists of them, that were sent as JSON text in place of names in brackets.
 */
import type { Issue } from "../errors.ts";
import { FormNode } from "./form_node.ts";
import { toJsonForm } from "./json_form.ts";
import { findOverflows } from "./json_number.ts";
import { lazyTarget } from "./lazy_schema.ts";
import { LISTS, OBJECTS, partsOf } from "./parts.ts";
import { explaining, type RunConfig } from "./run_config.ts";
import { type Dataset, nodeOf, type SchemaIssue, type SchemaNode } from "./schema.ts";

/** The answers of {@linkcode takesJson}: a form asks for them at every request. */
const answers = new WeakMap<SchemaNode, boolean>();

/**
 * Whether every value of a schema is an object or a list of objects, and JSON can carry it. A form
 * takes such a value as JSON text, too.
 */
export function takesJson(node: SchemaNode): boolean {
  let answer = answers.get(node);
  if (answer === undefined) answers.set(node, answer = holdsObjects(node, new Set()) && isJson(node, new Set()));
  return answer;
}

/** Whether a schema takes JSON text somewhere within its values. */
export function holdsJson(node: SchemaNode, seen: Set<SchemaNode> = new Set()): boolean {
  if (seen.has(node)) return false;
  seen.add(node);
  return partsBehind(node).some((part) => takesJson(part) || holdsJson(part, seen));
}

/** Whether a schema of files takes those of the platform. */
export function isFile(node: SchemaNode): boolean {
  if (node.type === "file" || node.type === "blob") return true;
  const { class: Class } = node as SchemaNode & { readonly class?: unknown };
  return node.type === "instance" && (Class === File || Class === Blob);
}

/**
 * Lets a form take JSON text where that is the one value that was sent.
 *
 * The values in the text have the types of JSON: `"5"` is no number, as it is where it was sent
 * under a name of its own.
 *
 * @param form The form for names in brackets.
 * @param declared What the form was made of: an object or a list.
 * @param name What it was declared for, for messages.
 */
export function orJson(form: SchemaNode, declared: SchemaNode, name: string): SchemaNode {
  const isList = LISTS.has(declared.type);
  return {
    ...form,
    "~run"(dataset, config) {
      const json = dataset.value instanceof FormNode ? dataset.value.json : undefined;
      const isWanted = json !== undefined && Array.isArray(json.value) === isList && takesJson(declared);
      if (!isWanted) return form["~run"](dataset, config);
      const overflows = findOverflows(json.text, json.value);
      if (overflows.length > 0) return tooLarge(json.value, overflows, config);
      return nodeOf(toJsonForm(declared, name))["~run"]({ value: json.value }, bothOf(config, explaining(json.value)));
    },
  };
}

function holdsObjects(node: SchemaNode, seen: Set<SchemaNode>): boolean {
  if (seen.has(node)) return false;
  seen.add(node);
  const isIn = (part: SchemaNode): boolean => holdsObjects(part, seen);
  if (OBJECTS.has(node.type)) return true;
  if (LISTS.has(node.type)) {
    const { item, items = [], rest } = node;
    const parts = [item, ...items, rest].filter((part) => part !== undefined);
    return parts.length > 0 && parts.every(isIn);
  }
  if (node.wrapped) return isIn(node.wrapped);
  const options = (node.options ?? []) as readonly SchemaNode[];
  if (node.type === "intersect") return options.some(isIn);
  if (node.type === "union") {
    const values = options.filter(({ type }) => type !== "null" && type !== "undefined");
    return values.length > 0 && values.every(isIn);
  }
  const target = node.type === "lazy" ? lazyTarget(node) : undefined;
  return target !== undefined && isIn(target);
}

/**
 * Whether JSON can carry the values: not where a file is among them, or a schema is only known by
 * its value.
 */
function isJson(node: SchemaNode, seen: Set<SchemaNode>): boolean {
  if (seen.has(node)) return true;
  seen.add(node);
  if (isFile(node) || (node.type === "lazy" && lazyTarget(node) === undefined)) return false;
  return partsBehind(node).every((part) => isJson(part, seen));
}

function partsBehind(node: SchemaNode): readonly SchemaNode[] {
  const target = node.type === "lazy" ? lazyTarget(node) : undefined;
  return target ? [target] : partsOf(node);
}

/**
 * Stops at the first fault where one of the two does: the form may be small beside a file of JSON.
 */
function bothOf(one: RunConfig, other: RunConfig): RunConfig {
  return {
    lang: undefined,
    message: undefined,
    abortPipeEarly: undefined,
    get abortEarly() {
      return one.abortEarly || other.abortEarly;
    },
  };
}

function tooLarge(value: unknown, overflows: readonly Issue[], config: RunConfig): Dataset {
  const issues: SchemaIssue[] = [];
  for (const { path, message, expected = null } of overflows) {
    issues.push({
      kind: "validation",
      type: "finite",
      input: Infinity,
      expected,
      received: "Infinity",
      message,
      // A list that valibot adds to; undefined where it is empty.
      path: path.length > 0 ? path.map((key) => ({ key })) : undefined,
    });
    if (config.abortEarly) break;
  }
  return { typed: false, value, issues: issues as [SchemaIssue, ...SchemaIssue[]] };
}

/** Declared replies of several successful statuses. */
import { quote } from "../../base/options.ts";
import { isSchema, type JsonForm, type Mistake, type OutputOf, type Schema, schemaFault } from "../../schema/schema.ts";
import { WITHOUT_BODY } from "../reply.ts";
import { declare, isDeclaredReply } from "./declared_reply.ts";

/** @ignore A result with its status, made by {@linkcode reply}. */
export interface StatusReply<Status extends number, Value> {
  readonly "~status": Status;
  readonly "~value": Value;
}

/** @ignore What a handler returns for a schema. */
export type TakenBy<Given> = Given extends { readonly "~types"?: { readonly input: infer Value } | undefined } ? Value
  : never;

/**
 * @ignore What a handler returns: a result of a model, or one with its status. The compiler's
 * messages show the cure; no value has it.
 */
export type AnyResult<Models> =
  | { readonly "~cure": "Return what a model takes, or reply(status, value) with a status of Replies({ … })" }
  | {
    [Status in keyof Models]: TakenBy<Models[Status]> | StatusReply<Status & number, TakenBy<Models[Status]>>;
  }[keyof Models];

/** @ignore What a typed client gets for a model. */
export type ReceivedFor<Model> = Model extends { readonly "~as": infer Value } ? Value
  : OutputOf<Model> extends infer Value ? Value extends Blob ? Blob : Value extends void ? undefined : JsonForm<Value>
  : never;

/** @ignore Made by {@linkcode Replies}. */
export interface RepliesReply<Models> extends Schema<AnyResult<Models>, OutputOf<Models[keyof Models]>> {
  readonly type: "replies";
  readonly "~yields": Mistake<"Return reply(status, value) from an async function">;
  readonly "~as": { [Status in keyof Models]: ReceivedFor<Models[Status]> }[keyof Models];
  /** The models by status, the lowest first. */
  readonly entries: ReadonlyMap<number, Schema>;
}

/** @ignore The models, with a mistake in place of each wrong one. */
export type CheckedModels<Models> = Models extends Schema ? Mistake<"Write Replies({ 200: Item, 201: Item })"> : {
  readonly [Status in keyof Models]: Models[Status] extends Schema
    ? `${Status & (number | string)}` extends `${2 | 3}${number}` ? Models[Status]
    : Mistake<"Write { 200: Item, 201: Item }: statuses from 200 to 399; the option responses has errors">
    : Mistake<"Give a valibot schema, Text(…), Html() or Bytes(…)">;
};

const ACTION = "Cannot declare a reply by Replies()";

/**
 * Declares several successful statuses, each with a model, as the `response` of a route.
 *
 * A result has the `status` of the route, or else the lowest of these; {@linkcode reply} returns
 * any other. It is validated and reduced to the model of its status. An undeclared status is a
 * `TypeError`, and the client gets a 500. A typed client gets the union of the results.
 *
 * @param models Schemas, `Text(…)`, `Html()` or `Bytes(…)` by status from 200 to 399; `v.void()`
 * for a status without a body.
 *
 * @example A created item, or the one that there is
 * ```ts
 * import { App, Replies, reply } from "@webfw/core";
 * import { assertEquals } from "@std/assert";
 * import * as v from "valibot";
 *
 * const Tag = v.object({ name: v.string() });
 * const tags = new Set<string>();
 * const app = new App();
 * app.put("/tags/{name}", { response: Replies({ 200: Tag, 201: Tag }) }, async (_request, { name }) => {
 *   if (tags.has(name)) return { name };
 *   tags.add(name);
 *   return reply(201, { name });
 * });
 * const put = async () => (await app.fetch(new Request("http://localhost/tags/new", { method: "PUT" }))).status;
 * assertEquals([await put(), await put()], [201, 200]);
 * ```
 *
 * @category Requests and replies
 */
export function Replies<const Models>(models: Models & CheckedModels<Models>): RepliesReply<Models> {
  const given = typeof models === "object" && models !== null && !("kind" in models) ? Object.entries(models) : [];
  if (given.length === 0) {
    throw new TypeError(`${ACTION}: the argument must be schemas by status, write { 200: Item, 201: Item }`);
  }
  for (const [status, model] of given) checkEntry(status, model);
  const entries = new Map(given.map(([status, model]) => [Number(status), model as Schema]));
  return declare({ type: "replies", entries });
}

function checkEntry(status: string, model: unknown): void {
  if (!/^[23]\d\d$/.test(status)) {
    throw new TypeError(
      `${ACTION}: ${quote(status)} is not a status from 200 to 399, declare errors by the option "responses"`,
    );
  }
  if (isDeclaredReply(model)) {
    if (model.type !== "text" && model.type !== "bytes") {
      throw new TypeError(`${ACTION}: "${status}" must be a schema, Text(…), Html() or Bytes(…), write them alone`);
    }
  } else if (!isSchema(model)) throw new TypeError(`${ACTION}: "${status}" ${schemaFault(model)}`);
  if (WITHOUT_BODY.has(Number(status)) && !isEmpty(model as Schema)) {
    throw new TypeError(`${ACTION}: a reply with status ${status} has no body, write ${status}: v.void()`);
  }
}

export function isEmpty({ type }: Schema): boolean {
  return type === "void" || type === "undefined";
}

/** What {@linkcode reply} returns at run time. */
export class ChosenReply implements StatusReply<number, unknown> {
  readonly "~status": number;
  readonly "~value": unknown;

  constructor(status: number, value: unknown) {
    this["~status"] = status;
    this["~value"] = value;
  }

  /** Called where a route without {@linkcode Replies} would send it as JSON. */
  toJSON(): never {
    const status = this["~status"];
    throw new TypeError(
      `Cannot reply by reply(${status}, …): the route declares no such reply, write response: Replies({ ${status}: … })`,
    );
  }
}

/**
 * A result with its status, for a route that declares it by {@linkcode Replies}.
 *
 * @param value The result; left out where the reply has no body.
 *
 * @example Deleted, or nothing to delete
 * ```ts
 * import { App, Replies, reply } from "@webfw/core";
 * import { assertEquals } from "@std/assert";
 * import * as v from "valibot";
 *
 * const app = new App();
 * const Removed = v.object({ removed: v.number() });
 * app.delete("/books", { response: Replies({ 200: Removed, 204: v.void() }) }, async () => reply(204));
 * const response = await app.fetch(new Request("http://localhost/books", { method: "DELETE" }));
 * assertEquals([response.status, await response.text()], [204, ""]);
 * ```
 *
 * @category Requests and replies
 */
export function reply<const Status extends number, const Value = void>(
  status: Status,
  ...value: Value extends void ? [value?: Value] : [value: Value]
): StatusReply<Status, Value> {
  if (typeof status !== "number") {
    throw new TypeError(`Cannot reply by reply(): the status must be a number, got ${quote(status)}`);
  }
  return new ChosenReply(status, value[0]) as unknown as StatusReply<Status, Value>;
}

/** Messages of a WebSocket: their encoding, the receive queue, and the error of a close. */
import type { Issue } from "../../base/errors.ts";
import { type Dataset, isStackOverflow, type Schema } from "../../schema/schema.ts";
import { summarizeIssues, toIssue } from "../../schema/issues.ts";
import { coerceJson, findOverflows } from "../../schema/coerce_json.ts";
import { toValidator, type Validator } from "../../schema/check.ts";
import { stringify } from "../json.ts";

/** A message on the wire. */
export type MessageData = string | Uint8Array<ArrayBuffer>;

export type DecodeMessage = (data: MessageData) => unknown;

/** A promise only if the schema is async. */
export type EncodeMessage = (message: unknown) => MessageData | Promise<MessageData>;

/** A message that cannot be decoded. The error's message is the reason of the close. */
export class UnreadableMessage extends Error {
  readonly code: number;

  constructor(code: number, reason: string) {
    super(reason);
    this.code = code;
  }
}

/** Without a schema, text and bytes are unchanged. Throws if no JSON can satisfy the schema. */
export function compileDecoding(schema: Schema | undefined, route: string): DecodeMessage {
  if (!schema) return (data) => data;
  const { validate } = toValidator(coerceJson(schema, `the messages that ${route} receives`));
  return (data) => {
    if (typeof data !== "string") throw new UnreadableMessage(1003, "A message must be text");
    const result = validateMessage(validate, data, parse(data));
    return result instanceof Promise ? result.then(readValue) : readValue(result);
  };
}

/** Without a schema, text and bytes are unchanged. The result throws for an unsendable message. */
export function compileEncoding(schema: Schema | undefined, route: string): EncodeMessage {
  if (!schema) return (message) => checkData(message, route);
  const { validate } = toValidator(schema);
  const write = ({ value, issues }: Dataset): string => {
    if (!issues) return stringify(value);
    const faults = summarizeIssues(issues, "the message");
    throw new TypeError(`Cannot send the message of ${route}: it does not fit the send schema, ${faults}`);
  };
  return (message) => {
    const result = validate(message);
    return result instanceof Promise ? result.then(write) : write(result);
  };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new UnreadableMessage(1007, "A message must be well-formed JSON");
  }
}

function validateMessage(
  validate: Validator["validate"],
  text: string,
  value: unknown,
): Dataset | Promise<Dataset> {
  try {
    const [overflow] = findOverflows(text, value);
    if (overflow) throw toUnreadable(overflow);
    const result = validate(value, true);
    return result instanceof Promise ? result.catch(refuseDepth) : result;
  } catch (error) {
    return refuseDepth(error);
  }
}

function refuseDepth(error: unknown): never {
  throw isStackOverflow(error) ? new UnreadableMessage(1007, "A message is nested too deeply") : error;
}

function readValue({ value, issues }: Dataset): unknown {
  if (!issues) return value;
  throw toUnreadable(toIssue(issues[0], "body", []));
}

function toUnreadable({ path, message }: Issue): UnreadableMessage {
  return new UnreadableMessage(1007, path.length === 0 ? message : `${path.join(".")}: ${message}`);
}

function checkData(message: unknown, route: string): MessageData {
  if (typeof message === "string" || message instanceof Uint8Array) return message as MessageData;
  throw new TypeError(
    `Cannot send the message of ${route}: without a send schema it must be a string or a Uint8Array, got ${typeof message}`,
  );
}

/** The memory of a message without its content, in bytes. */
const OVERHEAD_BYTES = 256;

/**
 * Received messages that are not read yet. Deno cannot pause receiving, so a client that sends too
 * fast can only be closed beyond a maximum.
 */
export class ReceiveQueue {
  readonly #capacity: number;
  #newest: MessageData[] = [];
  /** Older messages, the next one last: `shift()` of a long array is slow. */
  #next: MessageData[] = [];
  readonly #readers: ((message: MessageData | undefined) => void)[] = [];
  #size = 0;
  #hasEnded = false;

  /** In bytes. A single message may be larger. */
  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  /** False if there is no space for the message. */
  add(message: MessageData): boolean {
    if (this.#hasEnded) return true;
    const reader = this.#readers.shift();
    if (reader) {
      reader(message);
      return true;
    }
    const size = this.#size + sizeOf(message);
    if (this.#size > 0 && size > this.#capacity) return false;
    this.#size = size;
    this.#newest.push(message);
    return true;
  }

  /** Resolves to undefined when there will be no more. */
  take(): Promise<MessageData | undefined> {
    if (this.#next.length === 0) [this.#next, this.#newest] = [this.#newest.reverse(), this.#next];
    const message = this.#next.pop();
    if (message !== undefined) {
      this.#size -= sizeOf(message);
      return Promise.resolve(message);
    }
    return this.#hasEnded ? Promise.resolve(undefined) : new Promise((resolve) => this.#readers.push(resolve));
  }

  /** Messages in the queue can still be read. */
  end(): void {
    this.#hasEnded = true;
    for (const reader of this.#readers.splice(0)) reader(undefined);
  }

  clear(): void {
    this.#newest.length = this.#next.length = 0;
    this.end();
  }
}

/** A string may take two bytes per code unit. */
function sizeOf(message: MessageData): number {
  return OVERHEAD_BYTES + (typeof message === "string" ? 2 * message.length : message.length);
}

/**
 * The error of a closed WebSocket: `send()` rejects with it, and the socket's `signal` has it as
 * reason.
 *
 * A handler need not catch it: one that fails with it ends as if it returned.
 *
 * @example The code and the reason
 * ```ts
 * import { WebSocketClosedError } from "@webfw/core";
 * import { assertEquals } from "@std/assert";
 *
 * const error = new WebSocketClosedError(1001, "The tab was closed");
 * assertEquals([error.code, error.reason], [1001, "The tab was closed"]);
 * assertEquals(error.message, "The WebSocket is closed, with code 1001");
 * ```
 *
 * @category Streams
 */
export class WebSocketClosedError extends Error {
  /** The name of the class, for logs. */
  override readonly name = "WebSocketClosedError";
  /** RFC 6455, section 7.4. 1005: the client sent none. 1006: the connection broke off. */
  readonly code: number;
  /** The reason in words. Do not trust that of a client. */
  readonly reason: string;

  /** Makes the error. */
  constructor(code: number, reason: string) {
    super(`The WebSocket is closed, with code ${code}`);
    this.code = code;
    this.reason = reason;
  }
}

import type { Issue } from "../../errors.ts";
import { type Dataset, expectationsOf, type Schema, toIssue } from "../../schema/schema.ts";
import { toJsonForm } from "../../schema/json_form.ts";
import { findOverflows } from "../../schema/json_number.ts";
import { isStackOverflow } from "../../schema/stack.ts";
import { toValidator, type Validator } from "../../schema/check.ts";
import { stringify } from "../json.ts";

/** The error of using a WebSocket that is closed. */

/**
 * Tells that a WebSocket is closed: `send()` rejects with it, and it is the reason of the socket's `signal`.
 *
 * A handler need not catch it. One that ends with it ends as one that returned: the client has gone, and nothing failed.
 *
 * @example What there is to know of the end
 * ```ts
 * import { WebSocketClosedError } from "@webfw/core";
 * import { assertEquals } from "@std/assert";
 *
 * const error = new WebSocketClosedError(1001, "The tab was closed");
 * assertEquals([error.code, error.reason], [1001, "The tab was closed"]);
 * assertEquals(error.message, "The WebSocket is closed, with code 1001");
 * ```
 */
export class WebSocketClosedError extends Error {
  /** The name of the class, for logs. */
  override readonly name = "WebSocketClosedError";
  /** Why, as a number of RFC 6455, section 7.4. 1005: the client gave none; 1006: the connection broke off. */
  readonly code: number;
  /** Why, in words. Those of a client are not to be trusted. */
  readonly reason: string;

  /**
   * Makes the error.
   *
   * @param code Why, as a number.
   * @param reason Why, in words.
   */
  constructor(code: number, reason: string) {
    super(`The WebSocket is closed, with code ${code}`);
    this.code = code;
    this.reason = reason;
  }
}

/**
 * Messages that have come and wait to be read. Deno reads on whatever happens, and cannot be told to stop: all that can be done
 * about a client that sends faster than its messages are read is to keep no more than so much, and to close the connection.
 */

/** A message as it goes over the wire. */
export type MessageData = string | Uint8Array<ArrayBuffer>;

/** What a message takes in memory beside its content. */
const OVERHEAD_BYTES = 256;

/** A bounded queue of messages. */
export class Inbox {
  readonly #capacity: number;
  readonly #messages: MessageData[] = [];
  readonly #readers: ((message: MessageData | undefined) => void)[] = [];
  #size = 0;
  #hasEnded = false;

  /**
   * Makes an empty inbox.
   *
   * @param capacity How much can wait, in bytes. A single message may be larger.
   */
  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  /** Adds a message; false where there is no room for it. */
  add(message: MessageData): boolean {
    if (this.#hasEnded) return true;
    const reader = this.#readers.shift();
    if (reader) {
      reader(message);
      return true;
    }
    const size = this.#size + sizeOf(message);
    if (this.#messages.length > 0 && size > this.#capacity) return false;
    this.#size = size;
    this.#messages.push(message);
    return true;
  }

  /** The next message, when it has come; undefined when there will be none. */
  take(): Promise<MessageData | undefined> {
    const message = this.#messages.shift();
    if (message !== undefined) {
      this.#size -= sizeOf(message);
      return Promise.resolve(message);
    }
    return this.#hasEnded ? Promise.resolve(undefined) : new Promise((resolve) => this.#readers.push(resolve));
  }

  /** No more will come. What waits can still be read. */
  end(): void {
    this.#hasEnded = true;
    for (const reader of this.#readers.splice(0)) reader(undefined);
  }

  /** No more will come, and what waits is dropped. */
  clear(): void {
    this.#messages.length = 0;
    this.end();
  }
}

/** A string may take two bytes for each of its units. */
function sizeOf(message: MessageData): number {
  return OVERHEAD_BYTES + (typeof message === "string" ? 2 * message.length : message.length);
}

/** Messages as handlers have them, made of what goes over the wire and back. */

/** Reads a message. */
export type DecodeMessage = (data: MessageData) => unknown;

/** Writes a message. A promise only where the schema is async. */
export type EncodeMessage = (message: unknown) => MessageData | Promise<MessageData>;

/** A message that cannot be read, and what the client is told of it. */
export class UnreadableMessage extends Error {
  /** The code to close with. */
  readonly code: number;

  constructor(code: number, reason: string) {
    super(reason);
    this.code = code;
  }
}

/**
 * Prepares the reading of messages: JSON that fits the schema, or, where there is none, text and bytes as they are.
 *
 * @param schema What was declared.
 * @param route The route, for messages.
 * @throws {TypeError} When no JSON value can satisfy the schema.
 */
export function compileDecoding(schema: Schema | undefined, route: string): DecodeMessage {
  if (!schema) return (data) => data;
  const { validate } = toValidator(toJsonForm(schema, `the messages that ${route} receives`));
  return (data) => {
    if (typeof data !== "string") throw new UnreadableMessage(1003, "A message must be text");
    const result = validateDeep(validate, data, parse(data));
    return result instanceof Promise ? result.then(readValue) : readValue(result);
  };
}

/**
 * Prepares the writing of messages: validated, reduced to the schema and written as JSON, or, where there is none, text and bytes
 * as they are. It throws a `TypeError` for what cannot be sent.
 *
 * @param schema What was declared.
 * @param route The route, for messages.
 */
export function compileEncoding(schema: Schema | undefined, route: string): EncodeMessage {
  if (!schema) return (message) => checkData(message, route);
  const { validate } = toValidator(schema);
  const write = ({ value, issues }: Dataset): string => {
    if (issues) {
      throw new TypeError(
        `Cannot send the message of ${route}: it does not fit the send schema, ${
          expectationsOf(issues, "the message")
        }`,
      );
    }
    return stringify(value);
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

function validateDeep(
  validate: Validator["validate"],
  text: string,
  value: unknown,
): Dataset | Promise<Dataset> {
  try {
    const [overflow] = findOverflows(text, value);
    if (overflow) throw unfit(overflow);
    const result = validate(value, "first");
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
  throw unfit(toIssue(issues[0], "body", []));
}

function unfit({ path, message }: Issue): UnreadableMessage {
  return new UnreadableMessage(1007, path.length === 0 ? message : `${path.join(".")}: ${message}`);
}

function checkData(message: unknown, route: string): MessageData {
  if (typeof message === "string" || message instanceof Uint8Array) return message as MessageData;
  throw new TypeError(
    `Cannot send the message of ${route}: without a send schema it must be a string or a Uint8Array, got ${typeof message}`,
  );
}

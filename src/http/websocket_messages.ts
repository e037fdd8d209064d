/** Messages as handlers have them, made of what goes over the wire and back. */
import type { Issue } from "../errors.ts";
import { expectationsOf, toIssue } from "../schema/issues.ts";
import { toJsonForm } from "../schema/json_form.ts";
import { findOverflows } from "../schema/json_number.ts";
import type { Dataset, Schema } from "../schema/schema.ts";
import { isStackOverflow } from "../schema/stack.ts";
import { toValidator, type Validator } from "../schema/validator.ts";
import { stringify } from "./json.ts";
import type { MessageData } from "./websocket_inbox.ts";

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

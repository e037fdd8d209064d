/** The data of messages: JSON in the store, so that readers who come later, or by another process, get the same as the first. */
import type { TopicMessage } from "./message.ts";
import { toId } from "./message_id.ts";
import type { StoredMessage } from "./store.ts";

/**
 * How many lists and objects may be inside of one another. Whoever reads a message follows it as far, with what is left of a stack:
 * one that can be published and not be read would stop all readers of its topic.
 */
const MAX_DEPTH = 1_000;

/**
 * The JSON of what is published.
 *
 * @param data What is published.
 * @param topic The name of the topic, for the message.
 * @throws {TypeError} When JSON would drop or change a part of it: readers must not get another value than the one published.
 */
export function encodeData(data: unknown, topic: string): string {
  let json: string | undefined;
  let loss: Loss | undefined;
  try {
    loss = findLoss(data, 0);
    if (!loss) json = JSON.stringify(data);
  } catch (cause) {
    throw new TypeError(
      `Cannot publish to the topic "${topic}": the data has no JSON form, it refers to itself or is nested more than ${MAX_DEPTH} deep`,
      { cause },
    );
  }
  if (json !== undefined) return json;
  const { part, path } = loss ?? { part: typeof data, path: [] };
  const place = path.length === 0 ? "" : ` at "${path.join(".")}"`;
  throw new TypeError(
    `Cannot publish to the topic "${topic}": JSON cannot carry the ${part}${place}, use texts, finite numbers, lists and plain objects`,
  );
}

/** The size of a text in UTF-8. It is counted, since encoding it would make as many bytes to collect again. */
export function countBytes(text: string): number {
  let bytes = text.length;
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index);
    if (unit <= 0x7f) continue;
    bytes += unit > 0x7ff ? 2 : 1;
    // The two halves of a pair have four bytes together; one that is alone is written as U+FFFD, which has three.
    if ((unit & 0xfc00) === 0xd800 && (text.charCodeAt(index + 1) & 0xfc00) === 0xdc00) index++;
  }
  return bytes;
}

/** A message as readers get it. */
export function decodeMessage<Data>(stored: StoredMessage, epoch: string): TopicMessage<Data> {
  return Object.freeze({
    id: toId(epoch, stored.cursor),
    type: stored.type,
    data: deepFreeze(JSON.parse(stored.data)),
    time: new Date(stored.time),
  });
}

/** A part that JSON would not give back as it was. */
interface Loss {
  readonly part: string;
  readonly path: (string | number)[];
}

function findLoss(value: unknown, depth: number): Loss | undefined {
  switch (typeof value) {
    case "string":
    case "boolean":
      return undefined;
    case "number":
      return Number.isFinite(value) ? undefined : { part: `number ${value}`, path: [] };
    case "object":
      return value === null ? undefined : findLossWithin(value, depth + 1);
    default:
      return { part: typeof value, path: [] };
  }
}

function findLossWithin(object: object, depth: number): Loss | undefined {
  if (depth > MAX_DEPTH) throw new RangeError("Cannot look at all parts of the data: it is nested too deeply");
  return Array.isArray(object) ? findLossInList(object, depth) : findLossInObject(object, depth);
}

function findLossInList(list: readonly unknown[], depth: number): Loss | undefined {
  for (let index = 0; index < list.length; index++) {
    const loss = findLoss(list[index], depth);
    if (loss) return lossAt(index, loss);
  }
  return undefined;
}

function findLossInObject(object: object, depth: number): Loss | undefined {
  if (!isPlain(object)) return { part: object.constructor?.name || "object", path: [] };
  for (const key of Object.keys(object)) {
    const value = (object as Record<string, unknown>)[key];
    // A property that is undefined is as good as one that is not there.
    const loss = value === undefined ? undefined : findLoss(value, depth);
    if (loss) return lossAt(key, loss);
  }
  return undefined;
}

function lossAt(key: string | number, loss: Loss): Loss {
  loss.path.unshift(key);
  return loss;
}

/** Whether it is what an object literal makes, in this realm or another. */
function isPlain(object: object): boolean {
  const prototype = Object.getPrototypeOf(object);
  if (prototype !== null && prototype !== Object.prototype && Object.getPrototypeOf(prototype) !== null) return false;
  return typeof Reflect.get(object, "toJSON") !== "function";
}

function deepFreeze<Value>(value: Value): Value {
  if (typeof value !== "object" || value === null) return value;
  for (const part of Object.values(value)) deepFreeze(part);
  return Object.freeze(value);
}

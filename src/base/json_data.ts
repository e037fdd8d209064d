/** Data that is stored as JSON. What JSON would change is refused. */

/** In UTF-8. Encoding a string to measure it would make garbage. */
export function countBytes(text: string): number {
  let bytes = text.length;
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index);
    if (unit <= 0x7f) continue;
    bytes += unit > 0x7ff ? 2 : 1;
    // A surrogate pair has four bytes. A lone surrogate becomes U+FFFD, which has three.
    if ((unit & 0xfc00) === 0xd800 && (text.charCodeAt(index + 1) & 0xfc00) === 0xdc00) index++;
  }
  return bytes;
}

/** Readers of topics freeze messages by recursion: a deeper message could stop all of them. */
const MAX_DEPTH = 1_000;

/** @throws {TypeError} If JSON would drop or change a part. */
export function encodeData(data: unknown, action: string): string {
  let json: string | undefined;
  let loss: Loss | undefined;
  try {
    loss = findLoss(data, 0);
    if (!loss) json = JSON.stringify(data);
  } catch (cause) {
    throw new TypeError(
      `Cannot ${action}: the data has no JSON form, it refers to itself or is nested more than ${MAX_DEPTH} deep`,
      { cause },
    );
  }
  if (json !== undefined) return json;
  const { part, path } = loss ?? { part: typeof data, path: [] };
  const location = path.length === 0 ? "" : ` at "${path.join(".")}"`;
  throw new TypeError(
    `Cannot ${action}: JSON cannot represent the ${part}${location}, use strings, finite numbers, arrays and plain objects`,
  );
}

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
      if (value === null) return undefined;
      if (depth >= MAX_DEPTH) throw new RangeError("Cannot look at all parts of the data: it is nested too deeply");
      return Array.isArray(value) ? findLossInList(value, depth + 1) : findLossInObject(value, depth + 1);
    default:
      return { part: typeof value, path: [] };
  }
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
    // An undefined property equals an absent one.
    const loss = value === undefined ? undefined : findLoss(value, depth);
    if (loss) return lossAt(key, loss);
  }
  return undefined;
}

function lossAt(key: string | number, loss: Loss): Loss {
  loss.path.unshift(key);
  return loss;
}

/**
 * Parses JSON of another program.
 *
 * @throws {SyntaxError} If it is none.
 * @throws {RangeError} If it is nested too deeply.
 */
export function parseData(json: string): unknown {
  const data: unknown = JSON.parse(json);
  // Each level has two brackets.
  if (json.length > 2 * MAX_DEPTH) checkDepth(data, 0);
  return data;
}

function checkDepth(value: unknown, depth: number): void {
  if (typeof value !== "object" || value === null) return;
  if (depth >= MAX_DEPTH) throw new RangeError("Cannot read the data: it is nested too deeply");
  for (const part of Object.values(value)) checkDepth(part, depth + 1);
}

/** Like an object literal, of this realm or another. */
function isPlain(object: object): boolean {
  const prototype = Object.getPrototypeOf(object);
  if (prototype !== null && prototype !== Object.prototype && Object.getPrototypeOf(prototype) !== null) return false;
  return typeof Reflect.get(object, "toJSON") !== "function";
}

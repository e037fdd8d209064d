/** The fields of a form as a tree: a name may nest, as `address[street]` and `items[0][name]` do. */
import { HTTPError } from "../errors.ts";

/** What one field holds. */
export type FormValue = string | File;

/** One field, with the name under which it was sent. */
export type FormEntry = readonly [name: string, value: FormValue];

/** More than any form nests; a name could be made of nothing but brackets. */
const MAX_DEPTH = 32;

/** A name and what nests in it: `a[b][c]`. */
const NESTED = /^([^[\]]+)((?:\[[^[\]]+\])*)(\[\])?$/;

/** A place in a list. */
const INDEX = /^(?:0|[1-9]\d{0,8})$/;

/** JSON, with the text that it was parsed from. */
export interface FormJson {
  readonly text: string;
  readonly value: unknown;
}

/** The texts of files that hold JSON, or why they were not read. */
const fileTexts = new WeakMap<File, string | HTTPError>();

/**
 * Keeps what a file of JSON holds, since a form is validated without waiting for its files.
 *
 * @param file The file.
 * @param text Its text, or the error that stands for one that is not read.
 */
export function keepText(file: File, text: string | HTTPError): void {
  fileTexts.set(file, text);
}

/** What was sent under one name: values, and what nests in it. */
export class FormNode {
  #json: FormJson | null | undefined;
  /** What was sent under the very name, and under the name followed by `[]`. */
  readonly values: FormValue[] = [];
  /** What was sent below it, by the next part of the name. */
  readonly parts: Map<string, FormNode> = new Map();

  /**
   * Makes the tree of a form.
   *
   * @param entries The fields, in the order in which they were sent.
   * @throws {HTTPError} With 400, when a name nests too deeply.
   */
  static of(entries: Iterable<FormEntry>): FormNode {
    const root = new FormNode();
    for (const [name, value] of entries) {
      let node = root;
      for (const part of partsOf(name)) node = node.#open(part);
      node.values.push(value);
    }
    return root;
  }

  /** Whether it is one field that was left empty: no text, or no file chosen, for which browsers send one without name and content. */
  get isEmpty(): boolean {
    const [value, ...others] = this.values;
    if (others.length > 0 || this.parts.size > 0) return false;
    return value === "" || (value instanceof File && isUnchosen(value));
  }

  /** Whether it is one name that was sent several times. */
  get isRepeated(): boolean {
    return this.values.length > 1 && this.parts.size === 0;
  }

  /** The one value that was sent; the node itself where there is not just that. */
  get single(): FormValue | this {
    const [value] = this.values;
    return value === undefined || this.values.length > 1 || this.parts.size > 0 ? this : value;
  }

  /**
   * The JSON that was sent as the one value; undefined where it is none.
   *
   * @throws {HTTPError} When it is in a file that was not read.
   */
  get json(): FormJson | undefined {
    if (this.#json === undefined) this.#json = parseJson(textOf(this.single)) ?? null;
    return this.#json ?? undefined;
  }

  /** What was sent as a list, by repeated names or by indices, the node itself where it is none. */
  get items(): readonly FormNode[] | this {
    const indexed = [...this.parts];
    if (!indexed.every(([key]) => INDEX.test(key))) return this;
    const inOrder = indexed.toSorted(([one], [other]) => Number(one) - Number(other));
    return [...this.values.map(nodeOfValue), ...inOrder.map(([, node]) => node)];
  }

  /** What was sent as an object, whose keys are the client's choice; the node itself where it is none. */
  get fields(): Record<string, FormNode> | this {
    if (this.values.length > 0) return this;
    return Object.assign(Object.create(null), Object.fromEntries(this.parts));
  }

  /** What was sent, where nothing tells what it should be: a value, a list, or an object. */
  toPlain(): unknown {
    const { single, items } = this;
    if (single !== this) return single;
    if (items !== this && this.#isFilled) return (items as readonly FormNode[]).map((item) => item.toPlain());
    const plain: Record<string, unknown> = Object.create(null);
    for (const [key, node] of this.parts) plain[key] = node.toPlain();
    if (this.values.length > 0) plain[""] = this.values;
    return plain;
  }

  get #isFilled(): boolean {
    return this.values.length > 0 || this.parts.size > 0;
  }

  #open(part: string): FormNode {
    let node = this.parts.get(part);
    if (!node) this.parts.set(part, node = new FormNode());
    return node;
  }
}

/** Whether a file stands for none: browsers send an empty one for a field in which nothing was chosen. */
export function isUnchosen({ name, size }: File): boolean {
  return name === "" && size === 0;
}

/** The parts of a name; one that is not written so is a part as it stands. */
function partsOf(name: string): readonly string[] {
  const [, first, rest] = NESTED.exec(name) ?? [];
  if (first === undefined || !rest) return [first ?? name];
  const parts = [first, ...rest.slice(1, -1).split("][")];
  if (parts.length > MAX_DEPTH) throw new HTTPError(400, `The form nests more than ${MAX_DEPTH} names`);
  return parts;
}

function textOf(value: unknown): string | undefined {
  const text = value instanceof File ? fileTexts.get(value) : value;
  if (text instanceof HTTPError) throw text;
  return typeof text === "string" ? text : undefined;
}

function parseJson(text: string | undefined): FormJson | undefined {
  try {
    return text === undefined ? undefined : { text, value: JSON.parse(text) };
  } catch {
    return undefined;
  }
}

function nodeOfValue(value: FormValue): FormNode {
  const node = new FormNode();
  node.values.push(value);
  return node;
}

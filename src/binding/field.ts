/** Reads off a declaration what is bound from text: path, query, headers and cookies. */
import { type InputSource, RouteError } from "../errors.ts";
import type { Schema } from "../schema/schema.ts";
import { toTextForm } from "../schema/text_form.ts";
import { toValidator, type Validator } from "../schema/validator.ts";
import type { TextInputs } from "./dependency.ts";

/** Whose inputs are bound: a handler, or a dependency. */
export interface InputOwner {
  /** Whether it is the handler, which gets all values of the path. */
  readonly isHandler: boolean;
  /** What it is called in messages. */
  readonly name: string;
  /** What it declares. */
  readonly inputs: TextInputs;
  /** Names that are taken in its arguments, and by what. */
  readonly taken: ReadonlyMap<string, string>;
}

/** The names that a route's path holds. */
export interface PathNames {
  /** All of them, in order. */
  readonly all: readonly string[];
  /** Those of the route's own declaration; the others were added by an include. */
  readonly own: ReadonlySet<string>;
}

/** One input, ready to be read. */
export interface Field {
  readonly source: InputSource;
  readonly name: string;
  /** The index of the path's value or the query's slot. */
  readonly place: number;
  /** Undefined for a name in the path that nothing was declared for: it is a string. */
  readonly validator: Validator | undefined;
  readonly isList: boolean;
  readonly owner: number;
  /** The argument that holds the value: `headers` and `cookies` have objects of their own. */
  readonly bag: "headers" | "cookies" | undefined;
}

/**
 * Reads the fields off a declaration.
 *
 * @param owner Whose they are.
 * @param index The place of the owner among those whose inputs are bound together.
 * @param path The names in the route's path.
 * @param slots Gets a place for each key of the query, shared by all owners.
 * @throws {RouteError} When a name is bound twice, or the path does not hold a parameter.
 * @throws {TypeError} When no text can satisfy a schema.
 */
export function fieldsOf(
  owner: InputOwner,
  index: number,
  path: PathNames,
  slots: Map<string, number>,
): Field[] {
  const fields: Field[] = [];
  const taken = new Map(owner.taken);
  const add = (
    source: InputSource,
    name: string,
    place: number,
    schema: Schema | undefined,
    bag?: Field["bag"],
  ) => {
    if (!bag) claim(taken, name, `the ${source}`, owner.name);
    const form = schema &&
      toTextForm(schema, `the ${source} "${name}" of ${owner.name}`);
    if (form?.isList && (source === "path" || source === "cookie")) {
      throw new TypeError(
        `Cannot bind the ${source} "${name}" of ${owner.name}: it holds one value, not a list`,
      );
    }
    fields.push({
      source,
      name,
      place,
      validator: form && toValidator(form.schema),
      isList: form?.isList ?? false,
      owner: index,
      bag,
    });
  };
  const { params = {}, query = {}, headers = {}, cookies = {} } = owner.inputs;
  for (const name of Object.keys(params)) {
    if (!path.own.has(name)) {
      throw new RouteError(
        "path",
        `Cannot bind the path of ${owner.name}: it has no "{${name}}"; what an include prefix holds is declared under query`,
      );
    }
  }
  path.all.forEach((name, place) => {
    const schema = own(params, name) ?? (isRebound(name, owner, path) ? own(query, name) : undefined);
    if (owner.isHandler || schema) add("path", name, place, schema);
  });
  for (const [name, schema] of Object.entries(query)) {
    if (path.all.includes(name) && isRebound(name, owner, path)) continue;
    const slot = slots.get(name) ?? slots.size;
    slots.set(name, slot);
    add("query", name, slot, schema);
  }
  const headerNames = new Map<string, string>();
  for (const [name, schema] of Object.entries(headers)) {
    claim(headerNames, name.toLowerCase(), `the header "${name}"`, owner.name);
    add("header", name, 0, schema, "headers");
  }
  for (const [name, schema] of Object.entries(cookies)) {
    add("cookie", name, 0, schema, "cookies");
  }
  return fields;
}

function own(schemas: Readonly<Record<string, Schema>>, name: string): Schema | undefined {
  return Object.hasOwn(schemas, name) ? schemas[name] : undefined;
}

/** A name under `query` becomes the path's where the owner could not know the path: by an include, or in a dependency. */
function isRebound(name: string, { isHandler }: InputOwner, path: PathNames): boolean {
  return !isHandler || !path.own.has(name);
}

/**
 * Takes a name among the arguments.
 *
 * @throws {RouteError} When it is taken.
 */
export function claim(
  taken: Map<string, string>,
  name: string,
  by: string,
  owner: string,
): void {
  const before = taken.get(name);
  if (before !== undefined) {
    throw new RouteError(
      "conflict",
      `Cannot bind "${name}" of ${owner}: ${by} and ${before} both declare it, rename one`,
    );
  }
  taken.set(name, by);
}

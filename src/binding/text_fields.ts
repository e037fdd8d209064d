/** Binds what comes as text: path, query, headers and cookies, of a handler and of its dependencies, in one pass. */
import { type InputSource, type Issue, RouteError } from "../errors.ts";
import { pickQuery, type QueryValue } from "../http/query.ts";
import { type HttpRequest, limitsOf, pathValuesOf, queryTextOf } from "../http/request.ts";
import { toIssue } from "../schema/issues.ts";
import type { Dataset, Schema } from "../schema/schema.ts";
import { toTextForm } from "../schema/text_form.ts";
import { toValidator, type Validator } from "../schema/validator.ts";
import type { TextInputs } from "./dependency.ts";

/** Arguments by name. */
export type Args = Record<string, unknown>;

/** Whose inputs are bound: the handler is the first, its dependencies follow. */
export interface InputOwner {
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

interface Field {
  readonly source: InputSource;
  readonly name: string;
  /** The index of the path's value or the query's slot. */
  readonly place: number;
  readonly validate: Validator["validate"] | undefined;
  readonly isAsync: boolean;
  readonly isList: boolean;
  readonly owner: number;
  /** The argument that holds the value: `headers` and `cookies` have objects of their own. */
  readonly bag: "headers" | "cookies" | undefined;
}

/** The prepared plan. */
export class TextFields {
  readonly #owners: number;
  readonly #bags: readonly (readonly ("headers" | "cookies")[])[];
  readonly #fields: readonly Field[];
  readonly #slots: ReadonlyMap<string, number>;

  /** Whether a schema has to be waited for. */
  readonly isAsync: boolean;

  /**
   * Prepares the plan.
   *
   * @param owners Whose inputs to bind; the handler first.
   * @param path The names in the route's path.
   * @throws {RouteError} When a name is bound twice, or the path does not hold a parameter.
   * @throws {TypeError} When no text can satisfy a schema.
   */
  constructor(owners: readonly InputOwner[], path: PathNames) {
    const slots = new Map<string, number>();
    this.#owners = owners.length;
    this.#fields = owners.flatMap((owner, index) => fieldsOf(owner, index, path, slots));
    this.#bags = owners.map(({ inputs }) => BAGS.filter((bag) => inputs[bag] !== undefined));
    this.#slots = slots;
    this.isAsync = this.#fields.some((field) => field.isAsync);
  }

  /** Binds where no schema is async. Faults are added to the list. */
  bind(request: HttpRequest, issues: Issue[]): Args[] {
    const args = this.#emptyArgs();
    this.#readAll(request, args, issues, (field, result) => settle(field, result as Dataset, args, issues));
    return args;
  }

  /** Binds where a schema is async. Faults are added to the list. */
  async bindAsync(request: HttpRequest, issues: Issue[]): Promise<Args[]> {
    const args = this.#emptyArgs();
    const pending: Promise<void>[] = [];
    try {
      this.#readAll(request, args, issues, (field, result) => {
        pending.push(Promise.resolve(result).then((dataset) => settle(field, dataset, args, issues)));
      });
    } catch (error) {
      // What is under way already may fail as well, and has to have somebody who hears of it.
      await Promise.allSettled(pending);
      throw error;
    }
    await Promise.all(pending);
    return args;
  }

  #readAll(
    request: HttpRequest,
    args: readonly Args[],
    issues: Issue[],
    take: (field: Field, result: Dataset | Promise<Dataset>) => void,
  ): void {
    const query = this.#query(request);
    for (const field of this.#fields) {
      const value = read(field, request, query);
      if (field.validate === undefined) args[field.owner]![field.name] = value;
      else if (isRepeated(field, value)) issues.push(repeated(field));
      else take(field, field.validate(value));
    }
  }

  #query(request: HttpRequest): readonly QueryValue[] {
    return this.#slots.size === 0 ? [] : pickQuery(queryTextOf(request), this.#slots, limitsOf(request).query);
  }

  #emptyArgs(): Args[] {
    const args: Args[] = [];
    for (let owner = 0; owner < this.#owners; owner++) {
      const own: Args = {};
      for (const bag of this.#bags[owner]!) own[bag] = {};
      args.push(own);
    }
    return args;
  }
}

const BAGS = ["headers", "cookies"] as const;

function read(
  field: Field,
  request: HttpRequest,
  query: readonly QueryValue[],
): QueryValue {
  switch (field.source) {
    case "path":
      return pathValuesOf(request)[field.place];
    case "query": {
      const value = query[field.place];
      return field.isList && typeof value === "string" ? [value] : value;
    }
    case "header": {
      const value = request.raw.headers.get(field.name) ?? undefined;
      return field.isList && value !== undefined ? splitList(value) : value;
    }
    default:
      return request.cookies[field.name];
  }
}

/** The elements of a list header, RFC 9110 section 5.6.1. */
function splitList(value: string): string[] {
  return value.split(",").map((element) => element.trim()).filter((element) => element !== "");
}

function settle(
  field: Field,
  dataset: Dataset,
  args: Args[],
  issues: Issue[],
): void {
  if (dataset.issues) {
    for (const issue of dataset.issues) {
      issues.push(toIssue(issue, field.source, [field.name]));
    }
    return;
  }
  const own = args[field.owner]!;
  if (field.bag === undefined) own[field.name] = dataset.value;
  else (own[field.bag] as Args)[field.name] = dataset.value;
}

function isRepeated(field: Field, value: QueryValue): boolean {
  return !field.isList && typeof value === "object";
}

function repeated({ source, name }: Field): Issue {
  return {
    in: source,
    path: [name],
    message: "Sent more than once",
    expected: "a single value",
  };
}

function fieldsOf(
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
      validate: form && toValidator(form.schema).validate,
      isAsync: form?.schema.async ?? false,
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
    const schema = own(params, name) ?? (isRebound(name, index, path) ? own(query, name) : undefined);
    if (index === 0 || schema) add("path", name, place, schema);
  });
  for (const [name, schema] of Object.entries(query)) {
    if (path.all.includes(name) && isRebound(name, index, path)) continue;
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
function isRebound(name: string, owner: number, path: PathNames): boolean {
  return owner > 0 || !path.own.has(name);
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

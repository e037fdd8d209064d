/** Binds what comes as text: path, query, headers and cookies, of a handler and of its dependencies, in one pass. */
import type { Issue } from "../errors.ts";
import { pickQuery, type QueryValue } from "../http/query.ts";
import { exchangeOf, type HttpRequest } from "../http/request.ts";
import { queryText } from "../http/target.ts";
import { INVALID } from "../schema/check.ts";
import { toIssue } from "../schema/issues.ts";
import type { Dataset, SchemaIssue } from "../schema/schema.ts";
import { type Field, fieldsOf, type InputOwner, type PathNames } from "./field.ts";
import { type BindText, generateBindText } from "./text_source.ts";

/** Arguments by name. */
export type Args = Record<string, unknown>;

/** The prepared plan. */
export class TextFields {
  readonly #owners: number;
  readonly #bags: readonly (readonly ("headers" | "cookies")[])[];
  readonly #fields: readonly Field[];
  readonly #slots: ReadonlyMap<string, number>;
  readonly #bindValid: BindText | undefined;

  /** Whether a schema has to be waited for. */
  readonly isAsync: boolean;

  /**
   * Prepares the plan.
   *
   * @param owners Whose inputs to bind.
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
    this.isAsync = this.#fields.some((field) => field.validator?.isAsync);
    this.#bindValid = this.isAsync ? undefined : generateBindText(this.#fields, this.#bags, read);
  }

  /** Whether there is nothing to bind. */
  get isEmpty(): boolean {
    return this.#fields.length === 0 && this.#bags.every((bags) => bags.length === 0);
  }

  /** Binds where no schema is async. Faults are added to the list. */
  bind(request: HttpRequest, issues: Issue[]): Args[] {
    const query = this.#query(request);
    const valid = this.#bindValid?.(request, exchangeOf(request).values, query);
    if (valid) return valid;
    const args = this.#emptyArgs();
    for (const field of this.#fields) {
      const value = read(field, request, query);
      const output = field.validator === undefined
        ? value
        : isRepeated(field, value)
        ? INVALID
        : field.validator.check(value);
      if (output === INVALID) refuse(field, value, issues);
      else put(field, output, args);
    }
    return args;
  }

  /** Binds where a schema is async. Faults are added to the list. */
  async bindAsync(request: HttpRequest, issues: Issue[]): Promise<Args[]> {
    const args = this.#emptyArgs();
    const query = this.#query(request);
    const settled = this.#fields.map(async (field) => {
      const value = read(field, request, query);
      if (field.validator === undefined) return put(field, value, args);
      if (isRepeated(field, value)) return refuse(field, value, issues);
      const dataset = await field.validator.validate(value);
      if (dataset.issues) report(field, dataset.issues, issues);
      else put(field, dataset.value, args);
    });
    await Promise.all(settled);
    return args;
  }

  #query(request: HttpRequest): readonly QueryValue[] {
    if (this.#slots.size === 0) return NO_QUERY;
    const { raw, pathEnd, matched } = exchangeOf(request);
    return pickQuery(queryText(raw.url, pathEnd), this.#slots, matched.limits.query);
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

const NO_QUERY: readonly QueryValue[] = [];
const BAGS = ["headers", "cookies"] as const;

function read(
  field: Field,
  request: HttpRequest,
  query: readonly QueryValue[],
): QueryValue {
  switch (field.source) {
    case "path":
      return exchangeOf(request).values[field.place];
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

function put(field: Field, value: unknown, args: readonly Args[]): void {
  const own = args[field.owner]!;
  if (field.bag === undefined) own[field.name] = value;
  else (own[field.bag] as Args)[field.name] = value;
}

/** Tells what is wrong with a value that the check refused. */
function refuse(field: Field, value: QueryValue, issues: Issue[]): void {
  if (isRepeated(field, value)) issues.push(repeated(field));
  else report(field, (field.validator!.validate(value) as Dataset).issues ?? [], issues);
}

function report(field: Field, found: readonly SchemaIssue[], issues: Issue[]): void {
  for (const issue of found) issues.push(toIssue(issue, field.source, [field.name]));
}

function isRepeated(field: Field, value: QueryValue): boolean {
  return !field.isList && typeof value === "object";
}

function repeated({ source, name }: Field): Issue {
  return {
    in: source,
    path: [name],
    code: "invalid",
    message: "Sent more than once",
    expected: "a single value",
  };
}

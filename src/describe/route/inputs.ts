/** Lists what a route takes from its clients, as data: for those who tell of it, where the binder is for those who run it. */
import type { InputOptions } from "../../binding/binder.ts";
import { type PreparedDependency, type TextInputs, toDependency } from "../../binding/dependency.ts";
import { Resolver } from "../../binding/resolver.ts";
import { isStream } from "../../binding/stream_body.ts";
import type { InputSource } from "../../errors.ts";
import { fallsBack, nodeOf, type Schema, type SchemaNode } from "../../schema/schema.ts";
import { takesList } from "../../schema/coerce_text.ts";
import { isRequired } from "../json_schema/optionality.ts";
import { holdsBinary } from "../json_schema/non_json.ts";

/** All that a route takes, its dependencies included. */
export interface RouteInputs {
  /** Those of the path in their order, then those of the handler, then those of each dependency. */
  readonly parameters: readonly ParameterInput[];
  /** The body, where one is declared. */
  readonly body: BodyInput | undefined;
  /** Whether there are requests that are answered with 422. */
  readonly canBeInvalid: boolean;
  /** Its dependencies and theirs, each once. */
  readonly dependencies: readonly PreparedDependency[];
}

/** An input that comes as text under a name. */
export interface ParameterInput {
  readonly in: Extract<InputSource, "path" | "query" | "header" | "cookie">;
  readonly name: string;
  /**
   * What was declared of it, by the handler and by dependencies: a value has to satisfy all. None for a name in the path of which
   * nothing was declared; it is a string.
   */
  readonly schemas: readonly Schema[];
  /** Whether its name can be sent several times, each time with a value: a list in the query. */
  readonly isRepeated: boolean;
  /** Whether a request has to have it. */
  readonly isRequired: boolean;
}

/** The body of a request. */
export interface BodyInput {
  /** The argument that it becomes. */
  readonly name: "body" | "form";
  /** What it is sent as. A form that holds no file is taken in both ways, of which this is the simpler one. */
  readonly mediaType:
    | "application/json"
    | "application/octet-stream"
    | "application/x-www-form-urlencoded"
    | "multipart/form-data";
  /** What it holds. Of a stream of bytes it says nothing. */
  readonly schema: Schema;
  /** Whether a request has to have one. */
  readonly isRequired: boolean;
}

/**
 * Lists the inputs of a route that has been checked at its registration.
 *
 * @param declared What the route declares.
 * @param pathNames The names in its full path, in their order.
 */
export function inputsOf(declared: InputOptions, pathNames: readonly string[]): RouteInputs {
  const found = new DeclaredParameters(pathNames);
  found.add(declared);
  const dependencies = declared.deps ? dependenciesOf(declared.deps) : [];
  for (const { inputs } of dependencies) found.add(inputs);
  const parameters = found.list();
  const body = bodyOf(declared);
  const canBeInvalid = parameters.some(canBeRefused) || (body !== undefined && canBodyBeRefused(body));
  return { parameters, body, canBeInvalid, dependencies };
}

function bodyOf({ body, form }: InputOptions): BodyInput | undefined {
  if (form) {
    const { schema } = form;
    const mediaType = holdsBinary(schema) ? "multipart/form-data" : "application/x-www-form-urlencoded";
    return { name: "form", mediaType, schema, isRequired: isRequired(schema) };
  }
  if (!body) return undefined;
  // Where nothing is sent, the stream is empty.
  if (isStream(body)) {
    return { name: "body", mediaType: "application/octet-stream", schema: body, isRequired: false };
  }
  return { name: "body", mediaType: "application/json", schema: body, isRequired: isRequired(body) };
}

function dependenciesOf(deps: Readonly<Record<string, unknown>>): readonly PreparedDependency[] {
  const nodes = Object.entries(deps).map(([name, given]) => [name, toDependency(given, name)] as const);
  return new Resolver(new Map(nodes)).nodes;
}

type Declared = Pick<ParameterInput, "in" | "name"> & { readonly schemas: Schema[] };

/** Parameters by place and name: what several declare is one. */
class DeclaredParameters {
  readonly #pathNames: readonly string[];
  readonly #declared = new Map<string, Declared>();

  constructor(pathNames: readonly string[]) {
    this.#pathNames = pathNames;
    for (const name of pathNames) this.#open("path", name);
  }

  /** Adds what the handler or a dependency declares. A query parameter whose name the path holds is bound to the path. */
  add({ params, query, headers, cookies }: TextInputs): void {
    this.#addAll("path", params);
    this.#addAll("query", query);
    this.#addAll("header", headers);
    this.#addAll("cookie", cookies);
  }

  list(): ParameterInput[] {
    return Array.from(this.#declared.values(), ({ in: source, name, schemas }) => ({
      in: source,
      name,
      schemas,
      isRepeated: source === "query" && schemas.every((schema) => takesList(schema, name)),
      isRequired: source === "path" || schemas.some(isRequired),
    }));
  }

  #addAll(source: ParameterInput["in"], declared: TextInputs[keyof TextInputs]): void {
    if (!declared) return;
    for (const [name, schema] of Object.entries(declared)) {
      const isOfPath = source === "query" && this.#pathNames.includes(name);
      const { schemas } = this.#open(isOfPath ? "path" : source, name);
      if (!schemas.includes(schema)) schemas.push(schema);
    }
  }

  #open(source: ParameterInput["in"], name: string): Declared {
    const key = `${source} ${source === "header" ? name.toLowerCase() : name}`;
    let parameter = this.#declared.get(key);
    if (!parameter) this.#declared.set(key, parameter = { in: source, name, schemas: [] });
    return parameter;
  }
}

/** Kinds that take any value of JSON, and those that take any text. */
const ANY: ReadonlySet<string> = new Set(["any", "unknown"]);
const ANY_TEXT: ReadonlySet<string> = new Set([...ANY, "string"]);

function canBeRefused({ in: source, schemas, isRepeated, isRequired }: ParameterInput): boolean {
  if (schemas.length === 0) return false;
  // A scalar of the query can be sent twice.
  if (source !== "path" && (isRequired || (source === "query" && !isRepeated))) return true;
  return !schemas.every((schema) => takesAll(nodeOf(schema), ANY_TEXT));
}

function canBodyBeRefused({ mediaType, schema }: BodyInput): boolean {
  return mediaType !== "application/octet-stream" && !takesAll(nodeOf(schema), ANY);
}

/** Whether a schema takes every value that can be sent. When in doubt it does not. */
function takesAll(node: SchemaNode, kinds: ReadonlySet<string>): boolean {
  if (fallsBack(node)) return true;
  const [first, ...steps] = node.pipe ?? [];
  if (first) return takesAll(first as SchemaNode, kinds) && steps.every(({ kind }) => kind === "metadata");
  if (node.type === "array") return kinds === ANY_TEXT && takesAll(node.item!, kinds);
  if (node.wrapped && !node.type.startsWith("non_")) return takesAll(node.wrapped, kinds);
  return kinds.has(node.type);
}

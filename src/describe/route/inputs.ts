/** The inputs of a route as data, for documents and agents. The binder executes them. */
import { type PreparedDependency, type TextOptions, toDependencies } from "../../binding/dependency.ts";
import { dependenciesOf, type DependencyLevel } from "../../binding/levels.ts";
import type { InputOptions } from "../../binding/inputs.ts";
import { isStream } from "../../binding/bodies.ts";
import type { InputSource } from "../../base/errors.ts";
import { fallsBack, nodeOf, type Schema, type SchemaNode } from "../../schema/schema.ts";
import { isHidden } from "../../schema/hidden.ts";
import { takesList } from "../../schema/coerce_text.ts";
import { isRequired } from "../json_schema/optionality.ts";
import { holdsBinary } from "../json_schema/values.ts";
import type { OAuth2SecurityScheme, OpenIdConnectSecurityScheme } from "../../binding/security.ts";
import type { BaseRoute } from "../../routing/route.ts";

export interface RouteInputs {
  /** The path in order, then those of the handler, then those of each dependency; none hidden. */
  readonly parameters: readonly ParameterInput[];
  /** Undefined if no body is declared. */
  readonly body: BodyInput | undefined;
  readonly canBeInvalid: boolean;
  /** Direct and indirect, each once. */
  readonly dependencies: readonly PreparedDependency[];
}

export interface ParameterInput {
  readonly in: Extract<InputSource, "path" | "query" | "header" | "cookie">;
  readonly name: string;
  /** All apply. Empty for a path parameter without a schema, which is a string. */
  readonly schemas: readonly Schema[];
  /** Whether it is an array in the query. */
  readonly isRepeated: boolean;
  readonly isRequired: boolean;
}

export interface BodyInput {
  readonly name: "body" | "form";
  /** A form without files may also be multipart. */
  readonly mediaType:
    | "application/json"
    | "application/octet-stream"
    | "application/x-www-form-urlencoded"
    | "multipart/form-data";
  /** Meaningless for a stream of bytes. */
  readonly schema: Schema;
  readonly isRequired: boolean;
}

/**
 * @param pathNames The names in the full path, in order.
 * @param levels The dependencies of the scopes, outermost first, and of the route.
 */
export function inputsOf(
  options: InputOptions,
  pathNames: readonly string[],
  levels: readonly DependencyLevel[] = [{ deps: toDependencies(options.deps), counted: [] }],
): RouteInputs {
  const collected = new ParameterCollector(pathNames);
  collected.add(options);
  const dependencies = dependenciesOf(levels);
  for (const dependency of dependencies) collected.add(dependency.options);
  const all = collected.list();
  const parameters = all.filter(({ schemas }) => schemas.length === 0 || !schemas.every(isHidden));
  const body = bodyOf(options);
  const canBeInvalid = all.some(canBeRefused) || (body !== undefined && canBodyBeRefused(body));
  return { parameters, body, canBeInvalid, dependencies };
}

function bodyOf({ body, form }: InputOptions): BodyInput | undefined {
  if (form) {
    const { schema } = form;
    const mediaType = holdsBinary(schema) ? "multipart/form-data" : "application/x-www-form-urlencoded";
    return { name: "form", mediaType, schema, isRequired: isRequired(schema) };
  }
  if (!body) return undefined;
  // Without a body, the stream is empty.
  if (isStream(body)) {
    return { name: "body", mediaType: "application/octet-stream", schema: body, isRequired: false };
  }
  return { name: "body", mediaType: "application/json", schema: body, isRequired: isRequired(body) };
}

type CollectedParameter = Pick<ParameterInput, "in" | "name"> & { readonly schemas: Schema[] };

/** One parameter for each source and name. */
class ParameterCollector {
  readonly #pathNames: readonly string[];
  readonly #parameters = new Map<string, CollectedParameter>();

  constructor(pathNames: readonly string[]) {
    this.#pathNames = pathNames;
    for (const name of pathNames) this.#open("path", name);
  }

  /** A query parameter with the name of a path parameter reads the path. */
  add({ params, query, headers, cookies }: TextOptions): void {
    this.#addAll("path", params);
    this.#addAll("query", query);
    this.#addAll("header", headers);
    this.#addAll("cookie", cookies);
  }

  list(): ParameterInput[] {
    return Array.from(this.#parameters.values(), ({ in: source, name, schemas }) => ({
      in: source,
      name,
      schemas,
      isRepeated: source === "query" && schemas.every((schema) => takesList(schema, name)),
      isRequired: source === "path" || schemas.some(isRequired),
    }));
  }

  #addAll(source: ParameterInput["in"], declared: TextOptions[keyof TextOptions]): void {
    if (!declared) return;
    for (const [name, schema] of Object.entries(declared)) {
      const isInPath = source === "query" && this.#pathNames.includes(name);
      const { schemas } = this.#open(isInPath ? "path" : source, name);
      if (!schemas.includes(schema)) schemas.push(schema);
    }
  }

  #open(source: ParameterInput["in"], name: string): CollectedParameter {
    const key = `${source} ${source === "header" ? name.toLowerCase() : name}`;
    return this.#parameters.getOrInsertComputed(key, () => ({ in: source, name, schemas: [] }));
  }
}

/** These accept every JSON value. */
const ANY: ReadonlySet<string> = new Set(["any", "unknown"]);
const ANY_TEXT: ReadonlySet<string> = new Set([...ANY, "string"]);

function canBeRefused({ in: source, schemas, isRepeated, isRequired }: ParameterInput): boolean {
  if (schemas.length === 0) return false;
  // A repeated query parameter is refused, unless it is an array.
  if (source !== "path" && (isRequired || (source === "query" && !isRepeated))) return true;
  return !schemas.every((schema) => acceptsAll(nodeOf(schema), ANY_TEXT));
}

function canBodyBeRefused({ mediaType, schema }: BodyInput): boolean {
  return mediaType !== "application/octet-stream" && !acceptsAll(nodeOf(schema), ANY);
}

/** False if unknown. */
function acceptsAll(node: SchemaNode, kinds: ReadonlySet<string>): boolean {
  if (fallsBack(node)) return true;
  const [first, ...steps] = node.pipe ?? [];
  if (first) return acceptsAll(first as SchemaNode, kinds) && steps.every(({ kind }) => kind === "metadata");
  if (node.type === "array") return kinds === ANY_TEXT && acceptsAll(node.item!, kinds);
  if (node.wrapped && !node.type.startsWith("non_")) return acceptsAll(node.wrapped, kinds);
  return kinds.has(node.type);
}

export type TokenScheme = OAuth2SecurityScheme | OpenIdConnectSecurityScheme;

/** Direct and indirect dependencies, also of the scopes. */
export function securityOf({ levels }: Pick<BaseRoute, "levels">): readonly PreparedDependency[] {
  return dependenciesOf(levels).filter(({ security }) => security.length > 0);
}

/** Whether an authorization server issues its tokens. */
export function isTokenScheme(scheme: { readonly type: string }): scheme is TokenScheme {
  return scheme.type === "oauth2" || scheme.type === "openIdConnect";
}

/** The options that only documents show, and their checks. */
import * as v from "valibot";
import { isAsyncFunction } from "../../binding/dependency.ts";
import { nearest, type OptionNames, quote } from "../../base/options.ts";
import type { OpenAPIContact, OpenAPIDocument, OpenAPILicense, OpenAPITag } from "./document.ts";
import type { OpenAPIExternalDocs, OpenAPIServer } from "../../http/operation.ts";
import type { Schema } from "../../schema/schema.ts";

/**
 * The parts of the documents besides the routes. Properties whose names begin with `x-` are copied.
 */
export interface DocumentOptions {
  /**
   * The servers in the document; by default the host that serves it. Names in braces are variables.
   */
  servers?: readonly OpenAPIServer[];
  /** A summary in one line. */
  summary?: string;
  /** The contact of the application. */
  contact?: OpenAPIContact;
  /** The license of the API. */
  license?: OpenAPILicense;
  /** The URL of the terms of service. */
  termsOfService?: string;
  /** Further documentation. */
  externalDocs?: OpenAPIExternalDocs;
  /**
   * Describes tags, in the order in which the page shows their groups. The `tags` of routes,
   * routers and includes assign them.
   *
   * @default {[]}
   */
  tags?: readonly OpenAPITag[];
  /**
   * Transforms the OpenAPI document for `/openapi.json`, the page, the command line and
   * `app.openapi()`. It gets a copy, which it may change and return, at the first use of the
   * document, and again after routes were added. To change one operation, use `document` of a
   * route.
   *
   * The result must be valid OpenAPI, which is not checked. Routes that it removes are still
   * served: to hide a route from all documents, use `hidden`.
   *
   * @example A webhook, whose model is added to the components
   * ```ts
   * import { App } from "@webfw/core";
   * import { assertEquals } from "@std/assert";
   * import * as v from "valibot";
   *
   * const Refund = v.pipe(v.object({ amount: v.number() }), v.title("Refund"));
   * const app = new App({
   *   document: (document, { model }) => {
   *     const content = { "application/json": { schema: { $ref: model(Refund) } } };
   *     const responses = { 204: { description: "Received" } };
   *     document.webhooks = { refunded: { post: { requestBody: { required: true, content }, responses } } };
   *     return document;
   *   },
   * });
   * assertEquals(Object.keys(app.openapi().components.schemas!), ["Refund"]);
   * ```
   */
  document?: (document: OpenAPIDocument, models: DocumentModels) => OpenAPIDocument;
}

/** The second argument of the option `document` of an application. */
export interface DocumentModels {
  /**
   * Adds a model to the components, unless they have it already.
   *
   * @param schema A schema with a title.
   * @param form Whether the application sends it, or accepts it as input.
   * @returns The `$ref`, such as `#/components/schemas/Refund`.
   */
  model(schema: Schema, form?: "output" | "input"): string;
}

/** The names of the options. */
export const DOCUMENT_OPTIONS: OptionNames<DocumentOptions> = {
  servers: true,
  summary: true,
  contact: true,
  license: true,
  termsOfService: true,
  externalDocs: true,
  tags: true,
  document: true,
};

/** The characters of a URI (RFC 3986, section 2). */
const URI = /^[\w.~:/?#[\]@!$&'()*+,;=%-]+$/;
/** An address as in HTML and JSON Schema: no quotes, and a domain with a dot. */
const EMAIL = /^[\w.!#$%&'*+/=?^`{|}~-]+@[a-z\d](?:[a-z\d-]*[a-z\d])?(?:\.[a-z\d](?:[a-z\d-]*[a-z\d])?)+$/i;
const VARIABLE_NAMES = /\{([^{}]*)\}/g;

/** Replaced in messages by the path of the value, which valibot adds later. */
const PLACE = "\0";

type Message = (issue: v.BaseIssue<unknown>) => string;

let schema: v.GenericSchema<unknown, DocumentOptions> | undefined;

export function readDocumentOptions(options: DocumentOptions): DocumentOptions {
  const names = Object.keys(DOCUMENT_OPTIONS) as (keyof DocumentOptions)[];
  const given = names.map((name) => [name, options[name]] as const).filter(([, value]) => value !== undefined);
  if (given.length === 0) return {};
  const { document, ...described }: DocumentOptions = Object.fromEntries(given);
  const { issues } = v.safeParse(schema ??= makeSchema(), { document, ...described }, { abortEarly: true });
  if (!issues) return { ...copyOf(described), ...(document && { document }) };
  const [{ message, path = [] }] = issues;
  const place = path.map(({ key }) => typeof key === "number" ? `[${key}]` : `.${key}`).join("").replace(/^\./, "");
  throw new TypeError(`Cannot make the App: ${message.replaceAll(PLACE, place)}`);
}

function makeSchema(): v.GenericSchema<unknown, DocumentOptions> {
  const text = v.string(must("a string"));
  const filled = v.pipe(v.string(must("a non-empty string")), v.nonEmpty(must("a non-empty string")));
  const description = v.optional(text);
  const wanted = must('a URL with its scheme, such as "https://shop.example/about"');
  const url = v.pipe(v.string(wanted), v.check((url) => URI.test(url) && URL.canParse(url), wanted));
  const email = v.pipe(v.string(must("an e-mail address")), v.regex(EMAIL, must("an e-mail address")));
  const externalDocs = part({ url, description });
  const variable = v.pipe(
    part({ default: text, enum: v.optional(v.array(text, must("an array of strings"))), description }),
    v.check(
      ({ default: value, enum: values }) => values?.includes(value) ?? true,
      ({ input }) => `"${PLACE}.default" must be one of its enum, got ${quote(input.default)}`,
    ),
  );
  const server = v.pipe(
    part({ url: text, description, variables: v.optional(v.record(v.string(), variable, must("an object"))) }),
    v.rawCheck(({ dataset, addIssue }) => {
      const fault = dataset.typed && serverFault(dataset.value as OpenAPIServer);
      if (fault) addIssue({ message: `"${PLACE}.url" ${fault}` });
    }),
  );
  const tag = part(
    { name: filled, description, externalDocs: v.optional(externalDocs) },
    (input) =>
      typeof input === "string"
        ? `"${PLACE}" must be an object, write { name: ${quote(input)}, description: "…" }; ` +
          "the tags of a router or an include are those of its routes"
        : undefined,
  );
  return v.object({
    summary: description,
    servers: v.optional(v.array(server, must("an array of objects"))),
    contact: v.optional(part({ name: description, url: v.optional(url), email: v.optional(email) })),
    license: v.optional(v.pipe(
      part({ name: filled, identifier: description, url: v.optional(url) }),
      v.check(
        ({ identifier, url }) => identifier === undefined || url === undefined,
        `"${PLACE}" has an identifier and a url, leave out one of them`,
      ),
    )),
    termsOfService: v.optional(url),
    externalDocs: v.optional(externalDocs),
    tags: v.optional(v.pipe(
      v.array(tag, must("an array of objects")),
      v.check(
        (tags) => repeatedName(tags) === undefined,
        ({ input }) => `"${PLACE}" describes ${quote(repeatedName(input))} twice, leave out one`,
      ),
    )),
    document: v.optional(v.pipe(
      v.function(must("a function, such as (document) => document")),
      v.check(
        (document) => !isAsyncFunction(document),
        `"${PLACE}" must be a sync function, since app.openapi() does not wait`,
      ),
    )),
  }) as unknown as v.GenericSchema<unknown, DocumentOptions>;
}

function must(wanted: string): Message {
  return ({ input }) => `"${PLACE}" must be ${wanted}, got ${quote(input)}`;
}

/** An object with these properties and any extensions. */
function part<const Entries extends v.ObjectEntries>(
  entries: Entries,
  explain?: (input: unknown) => string | undefined,
) {
  const names = Object.keys(entries);
  const list = `there are ${names.join(", ")}`;
  const kindOf = (input: unknown) => input === null ? "null" : Array.isArray(input) ? "an array" : typeof input;
  const isKnown = (name: string) => names.includes(name) || name.startsWith("x-");
  return v.pipe(
    v.custom<object>(
      (input) => kindOf(input) === "object",
      ({ input }) => explain?.(input) ?? `"${PLACE}" must be an object, got ${kindOf(input)}; ${list}`,
    ),
    v.looseObject(entries, `"${PLACE}" is missing; ${list}`),
    v.rawCheck(({ dataset, addIssue }) => {
      const unknown = dataset.typed && Object.keys(dataset.value).find((name) => !isKnown(name));
      if (!unknown) return;
      const near = `the nearest is "${PLACE}.${nearest(unknown, names)}"`;
      addIssue({ message: `the option "${PLACE}.${unknown}" is unknown, ${near}; ${list}` });
    }),
  );
}

function repeatedName(tags: readonly { readonly name: string }[]): string | undefined {
  const names = tags.map(({ name }) => name);
  return names.find((name, index) => names.indexOf(name) < index);
}

function serverFault({ url, variables = {} }: OpenAPIServer): string | undefined {
  const names = Array.from(url.matchAll(VARIABLE_NAMES), ([, variable]) => variable!);
  const unknown = names.find((variable) => !Object.hasOwn(variables, variable));
  if (unknown !== undefined) return `has the variable "${unknown}", declare it under variables`;
  const unused = Object.keys(variables).find((variable) => !names.includes(variable));
  if (unused !== undefined) return `lacks the variable "${unused}", write {${unused}} in it`;
  for (const each of serverUrls({ url, variables })) {
    const parsed = URI.test(each) && URL.parse(each, "https://host.invalid/");
    if (parsed && parsed.username + parsed.password !== "") {
      return "has a user or password, leave them out: the document is public";
    }
    if (!parsed || !/^https?:$/.test(parsed.protocol) || /[?#]/.test(each)) {
      return `must be a URL of http or https, or a path, without query and fragment, got ${quote(each)}`;
    }
    if (each.length > 1 && each.endsWith("/")) {
      return `must be without a slash at the end, since paths begin with one, got ${quote(each)}`;
    }
  }
  return undefined;
}

/** Further ones are not checked. */
const MAX_URLS = 100;

/** The URLs of a server, for the first hundred combinations of its variables. */
export function serverUrls({ url, variables = {} }: OpenAPIServer): readonly string[] {
  return Object.entries(variables).reduce<readonly string[]>((urls, [name, variable]) => {
    const values = variable.enum ?? [variable.default];
    return urls.flatMap((each) => values.map((value) => each.replaceAll(`{${name}}`, () => value))).slice(0, MAX_URLS);
  }, [url]);
}

/** Later changes must not reach the document. */
function copyOf<Parts extends object>(value: Parts): Parts {
  try {
    return JSON.parse(JSON.stringify(value));
  } catch (error) {
    throw new TypeError("Cannot make the App: the extensions of its document must be JSON", { cause: error });
  }
}

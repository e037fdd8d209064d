/** The options of an application that only its documents show, and their checks. */
import { isAsyncFunction } from "../../binding/dependency.ts";
import { checkOptions, type OptionNames, quote } from "../../base/options.ts";
import type {
  OpenAPIContact,
  OpenAPIDocument,
  OpenAPIExternalDocs,
  OpenAPILicense,
  OpenAPIServer,
  OpenAPIServerVariable,
  OpenAPITag,
} from "./document.ts";

/**
 * What the documents of an application say besides its routes. Members whose names begin with `x-`
 * are taken as they are.
 */
export interface DocumentOptions {
  /**
   * Where the application is served. Without servers, it is where the document comes from.
   *
   * @example A server for each region
   * ```ts
   * import { App } from "@webfw/core";
   * import { assertEquals } from "@std/assert";
   *
   * const app = new App({
   *   servers: [{
   *     url: "https://{region}.shop.example/v1",
   *     variables: { region: { default: "eu", enum: ["eu", "us"] } },
   *   }],
   * });
   * assertEquals(app.openapi().servers?.[0]?.url, "https://{region}.shop.example/v1");
   * ```
   */
  servers?: readonly OpenAPIServer[];
  /** The contact of the application. */
  contact?: OpenAPIContact;
  /** The license of the API. */
  license?: OpenAPILicense;
  /** The URL of the terms of service. */
  termsOfService?: string;
  /** Further documentation. */
  externalDocs?: OpenAPIExternalDocs;
  /**
   * Describes tags, in the order in which the page shows their groups. It gives no route a tag:
   * the `tags` of routes, routers and includes do.
   *
   * @default {[]}
   *
   * @example Two groups
   * ```ts
   * import { App } from "@webfw/core";
   * import { assertEquals } from "@std/assert";
   *
   * const app = new App({
   *   tags: [{ name: "orders", description: "Buying books." }, { name: "books", description: "What there is." }],
   * });
   * app.get("/books", { tags: ["books"] }, async () => []);
   * app.get("/health", { tags: ["operations"] }, async () => "ok");
   * assertEquals(app.openapi().tags?.map(({ name }) => name), ["orders", "books", "operations"]);
   * ```
   */
  tags?: readonly OpenAPITag[];
  /**
   * Changes the OpenAPI document before anyone sees it: `/openapi.json`, the page, the command line
   * and `app.openapi()` show what it returns. It gets a copy, which it may change and return. It is
   * called when the document is first asked for, and again only if routes were added since then.
   *
   * It is not checked that the result is valid OpenAPI. The routes stay as they are, also those
   * that it removes: `hidden` is for routes that no document should show.
   *
   * @example A logo
   * ```ts
   * import { App } from "@webfw/core";
   * import { assertEquals } from "@std/assert";
   *
   * const app = new App({
   *   document: (document) => {
   *     document.info["x-logo"] = { url: "https://shop.example/logo.svg" };
   *     return document;
   *   },
   * });
   * assertEquals(app.openapi().info["x-logo"], { url: "https://shop.example/logo.svg" });
   * ```
   */
  document?: (document: OpenAPIDocument) => OpenAPIDocument;
}

/** The names of the options. */
export const DOCUMENT_OPTIONS: OptionNames<DocumentOptions> = {
  servers: true,
  contact: true,
  license: true,
  termsOfService: true,
  externalDocs: true,
  tags: true,
  document: true,
};

const CONTACT: OptionNames<OpenAPIContact> = { name: true, url: true, email: true };
const LICENSE: OptionNames<OpenAPILicense> = { name: true, identifier: true, url: true };
const EXTERNAL_DOCS: OptionNames<OpenAPIExternalDocs> = { url: true, description: true };
const SERVER: OptionNames<OpenAPIServer> = { url: true, description: true, variables: true };
const VARIABLE: OptionNames<OpenAPIServerVariable> = { default: true, enum: true, description: true };
const TAG: OptionNames<OpenAPITag> = { name: true, description: true, externalDocs: true };

/** The characters of a URI (RFC 3986, section 2). */
const URI = /^[\w.~:/?#[\]@!$&'()*+,;=%-]+$/;
/** An address as in HTML and JSON Schema: no quotes, and a domain with a dot. */
const EMAIL = /^[\w.!#$%&'*+/=?^`{|}~-]+@[a-z\d](?:[a-z\d-]*[a-z\d])?(?:\.[a-z\d](?:[a-z\d-]*[a-z\d])?)+$/i;
/** A name in the URL of a server. */
const VARIABLE_NAMES = /\{([^{}]*)\}/g;

/**
 * Checks the options, and copies them.
 *
 * @throws {TypeError} If one is invalid.
 */
export function readDocumentOptions(options: DocumentOptions): DocumentOptions {
  const { servers, contact, license, termsOfService, externalDocs, tags, document } = options;
  if (servers !== undefined) checkList(servers, "servers", checkServer);
  if (contact !== undefined) checkContact(contact);
  if (license !== undefined) checkLicense(license);
  if (termsOfService !== undefined) checkUrl(termsOfService, "termsOfService");
  if (externalDocs !== undefined) checkExternalDocs(externalDocs, "externalDocs");
  if (tags !== undefined) checkTags(tags);
  if (document !== undefined) checkLastHand(document);
  const shown: DocumentOptions = copyOf({ servers, contact, license, termsOfService, externalDocs, tags });
  return { ...shown, ...(document !== undefined && { document }) };
}

function checkServer(server: OpenAPIServer, name: string): void {
  checkMembers(server, SERVER, name);
  const { url, description, variables = {} } = server;
  checkText(description, `${name}.description`);
  if (typeof variables !== "object" || variables === null) refuse(`${name}.variables`, "an object", variables);
  for (const [variable, value] of Object.entries(variables)) checkVariable(value, `${name}.variables.${variable}`);
  checkServerUrl(url, variables, `${name}.url`);
}

function checkVariable(variable: OpenAPIServerVariable, name: string): void {
  checkMembers(variable, VARIABLE, name);
  const { default: value, enum: values, description } = variable;
  if (typeof value !== "string") refuse(`${name}.default`, "a text", value);
  checkText(description, `${name}.description`);
  if (values === undefined) return;
  if (!Array.isArray(values) || values.some((each) => typeof each !== "string")) {
    refuse(`${name}.enum`, "a list of texts", values);
  }
  if (!values.includes(value)) refuse(`${name}.default`, "one of its enum", value);
}

function checkServerUrl(url: string, variables: Readonly<Record<string, OpenAPIServerVariable>>, name: string): void {
  if (typeof url !== "string") refuse(name, "a URL", url);
  const names = Array.from(url.matchAll(VARIABLE_NAMES), ([, variable]) => variable!);
  const unknown = names.find((variable) => !Object.hasOwn(variables, variable));
  if (unknown !== undefined) {
    throw new TypeError(`Cannot make the App: "${name}" has the variable "${unknown}", declare it under variables`);
  }
  const unused = Object.keys(variables).find((variable) => !names.includes(variable));
  if (unused !== undefined) {
    throw new TypeError(`Cannot make the App: "${name}" lacks the variable "${unused}", write {${unused}} in it`);
  }
  for (const each of serverUrls({ url, variables })) {
    const parsed = URI.test(each) && URL.parse(each, "https://host.invalid/");
    if (parsed && parsed.username + parsed.password !== "") {
      throw new TypeError(
        `Cannot make the App: "${name}" has a user or password, leave them out: the document is public`,
      );
    }
    if (!parsed || !/^https?:$/.test(parsed.protocol) || /[?#]/.test(each)) {
      refuse(name, "a URL of http or https, or a path, without query and fragment", each);
    }
    if (each.length > 1 && each.endsWith("/")) {
      refuse(name, "without a slash at the end, since paths begin with one", each);
    }
  }
}

/** The most URLs of one server that are checked. */
const MAX_URLS = 100;

/** The URLs of a server: the first hundred combinations of its variables. */
export function serverUrls({ url, variables = {} }: OpenAPIServer): readonly string[] {
  return Object.entries(variables).reduce<readonly string[]>((urls, [name, variable]) => {
    const values = variable.enum ?? [variable.default];
    return urls.flatMap((each) => values.map((value) => each.replaceAll(`{${name}}`, () => value))).slice(0, MAX_URLS);
  }, [url]);
}

function checkContact(contact: OpenAPIContact): void {
  checkMembers(contact, CONTACT, "contact");
  checkText(contact.name, "contact.name");
  if (contact.url !== undefined) checkUrl(contact.url, "contact.url");
  const { email } = contact;
  if (email === undefined || (typeof email === "string" && EMAIL.test(email))) return;
  refuse("contact.email", "an e-mail address", email);
}

function checkLicense(license: OpenAPILicense): void {
  checkMembers(license, LICENSE, "license");
  const { name, identifier, url } = license;
  if (typeof name !== "string" || name === "") refuse("license.name", "a text that is not empty", name);
  checkText(identifier, "license.identifier");
  if (url !== undefined) checkUrl(url, "license.url");
  if (identifier === undefined || url === undefined) return;
  throw new TypeError(`Cannot make the App: "license" has an identifier and a url, leave out one of them`);
}

function checkTags(tags: readonly OpenAPITag[]): void {
  checkList(tags, "tags", (tag: unknown, name) => {
    if (typeof tag === "string") {
      throw new TypeError(
        `Cannot make the App: "${name}" must be an object, write { name: ${quote(tag)}, description: "…" }; ` +
          "the tags of a router or an include are those of its routes",
      );
    }
    checkTag(tag as OpenAPITag, name);
  });
  const names = tags.map(({ name }) => name);
  const twice = names.find((name, index) => names.indexOf(name) < index);
  if (twice !== undefined) {
    throw new TypeError(`Cannot make the App: "tags" describes ${quote(twice)} twice, leave out one`);
  }
}

function checkTag(tag: OpenAPITag, name: string): void {
  checkMembers(tag, TAG, name);
  if (typeof tag.name !== "string" || tag.name === "") refuse(`${name}.name`, "a text that is not empty", tag.name);
  checkText(tag.description, `${name}.description`);
  if (tag.externalDocs !== undefined) checkExternalDocs(tag.externalDocs, `${name}.externalDocs`);
}

function checkExternalDocs(docs: OpenAPIExternalDocs, name: string): void {
  checkMembers(docs, EXTERNAL_DOCS, name);
  checkUrl(docs.url, `${name}.url`);
  checkText(docs.description, `${name}.description`);
}

function checkLastHand(document: unknown): void {
  if (typeof document !== "function") refuse("document", "a function, such as (document) => document", document);
  if (!isAsyncFunction(document)) return;
  throw new TypeError(`Cannot make the App: "document" must be a sync function, since app.openapi() does not wait`);
}

function checkList<Item>(list: readonly Item[], name: string, check: (item: Item, name: string) => void): void {
  if (!Array.isArray(list)) refuse(name, "a list of objects", list);
  for (const [index, item] of list.entries()) check(item, `${name}[${index}]`);
}

/** Refuses unknown members, except for extensions. */
function checkMembers<Part extends object>(part: Part, known: OptionNames<Part>, name: string): void {
  const isObject = typeof part === "object" && part !== null && !Array.isArray(part);
  const named = isObject ? Object.entries(part).filter(([member]) => !member.startsWith("x-")) : undefined;
  checkOptions((named ? Object.fromEntries(named) : part) as Part, known, "make the App", `${name}.`);
}

function checkText(text: unknown, name: string): void {
  if (text !== undefined && typeof text !== "string") refuse(name, "a text", text);
}

function checkUrl(url: unknown, name: string): void {
  if (typeof url === "string" && URI.test(url) && URL.canParse(url)) return;
  refuse(name, 'a URL with its scheme, such as "https://shop.example/about"', url);
}

function refuse(name: string, wanted: string, value: unknown): never {
  throw new TypeError(`Cannot make the App: "${name}" must be ${wanted}, got ${quote(value)}`);
}

/** A copy, so that later changes do not reach the document. */
function copyOf<Parts extends object>(value: { readonly [Name in keyof Parts]: Parts[Name] | undefined }): Parts {
  try {
    return JSON.parse(JSON.stringify(value));
  } catch (error) {
    throw new TypeError("Cannot make the App: the extensions of its document must be JSON", { cause: error });
  }
}

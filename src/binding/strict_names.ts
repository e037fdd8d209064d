/** Refuses names in the query, headers and cookies that no input of a route declares. */
import type { Issue } from "../base/errors.ts";
import { contextOf, type HttpRequest } from "../http/request.ts";
import { pickQuery, queryText } from "../http/query.ts";
import { type PreparedDependency, type StrictOption, type TextInputs, withNeeded } from "./dependency.ts";

/** Added by proxies, and read by no program unless it declares them. */
const OF_PROXIES =
  /^x-(?:forwarded|original|real|client|cluster|scheme|request|correlation|amzn?|appengine|arr|azure|b3|cloud|datadog|envoy|goog|ms|vercel)(?:-|$)/;

const NO_SLOTS: ReadonlyMap<string, number> = new Map();

/** Besides the parameters of a program: where an `EventSource` goes on. */
const LAST_EVENT_ID = "lastEventId";

/** The declared names of a route whose inputs, or those of a dependency, are strict. */
export class StrictNames {
  readonly #strict: ReadonlySet<StrictOption>;
  readonly #query = new Set([LAST_EVENT_ID]);
  readonly #headers = new Set<string>();
  readonly #cookies = new Set<string>();

  /** Undefined if other names are accepted. */
  static of(inputs: TextInputs, dependencies: Iterable<PreparedDependency>): StrictNames | undefined {
    // A guard that another one runs reads its inputs itself.
    const all = [...withNeeded<PreparedDependency>(dependencies, "inner")];
    const strict = new Set([inputs, ...all.map(({ options }) => options)].flatMap(({ strict = [] }) => strict));
    return strict.size === 0 ? undefined : new StrictNames(strict, inputs, all);
  }

  constructor(strict: ReadonlySet<StrictOption>, inputs: TextInputs, dependencies: readonly PreparedDependency[]) {
    this.#strict = strict;
    this.#add(inputs);
    for (const { options, security, readHeaders = [] } of dependencies) {
      this.#add(options);
      for (const name of readHeaders) this.#headers.add(name.toLowerCase());
      for (const { scheme } of security.flatMap((way) => [...way.values()])) {
        if (scheme.type !== "apiKey") continue;
        this.#add({ [{ query: "query", header: "headers", cookie: "cookies" }[scheme.in]]: { [scheme.name]: true } });
      }
    }
  }

  /** Adds an issue for each other name. */
  check(request: HttpRequest, issues: Issue[]): void {
    const { raw, pathEnd, matched } = contextOf(request);
    if (this.#strict.has("query")) {
      const unknown = new Set<string>();
      pickQuery(queryText(raw.url, pathEnd), NO_SLOTS, matched.limits.query, (name) => {
        if (!this.#query.has(name)) unknown.add(name);
      });
      for (const name of unknown) issues.push(unknownName("query", name));
    }
    if (this.#strict.has("headers")) {
      for (const name of raw.headers.keys()) {
        if (name.startsWith("x-") && !OF_PROXIES.test(name) && !this.#headers.has(name)) {
          issues.push(unknownName("header", name));
        }
      }
    }
    if (this.#strict.has("cookies")) {
      for (const name of Object.keys(request.cookies)) {
        if (!this.#cookies.has(name)) issues.push(unknownName("cookie", name));
      }
    }
  }

  #add({ query = {}, headers = {}, cookies = {} }: { readonly [_ in StrictOption]?: object | undefined }): void {
    for (const name of Object.keys(query)) this.#query.add(name);
    for (const name of Object.keys(headers)) this.#headers.add(name.toLowerCase());
    for (const name of Object.keys(cookies)) this.#cookies.add(name);
  }
}

function unknownName(source: Issue["in"], name: string): Issue {
  return { in: source, path: [name], code: "invalid", message: "Unknown name" };
}

// Checks one operation against the document.

import type { JsonSchema } from "../../../src/schema/json_schema.ts";
import type { OpenAPIParameter } from "../../../src/http/operation.ts";
import type { Random } from "../../unit/support/random.ts";
import { brokenJson, OTHER_TYPES, trickyJson } from "./bad_bodies.ts";
import { Changes, type Edges, edgesOf } from "./changes.ts";
import { defaultOf, withDefaults } from "./defaults.ts";
import { verdictWithout } from "./dropped_keys.ts";
import type { Exchange } from "./exchange.ts";
import type { Expectation } from "./expectation.ts";
import { brokenForms, fieldsOf, fileType, isForm, propertiesOf, toBody } from "./form_fields.ts";
import type { Operation, RequestBody } from "./operations.ts";
import { isList, oddTexts, textsOf, verdictOf } from "./parameter_texts.ts";
import type { Path } from "./parts.ts";
import type { Paths } from "./paths.ts";
import type { Fault } from "./refusals.ts";
import type { Received } from "./replies.ts";
import type { Schemas, Verdict } from "./schemas.ts";
import { type Sent, shortened, urlOf } from "./sent.ts";
import type { ValidRequests } from "./valid_requests.ts";

const JSON_TYPE = "application/json";

/** What all checks of one document share. */
export interface Bench {
  readonly schemas: Schemas;
  readonly paths: Paths;
  readonly random: Random;
  readonly exchange: Exchange;
  /** Whether the same request always gets the same reply. */
  readonly isPure: boolean;
}

/** Checks one operation. */
export class OperationCheck {
  readonly #operation: Operation;
  readonly #requests: ValidRequests;
  readonly #bench: Bench;
  readonly #edges: ReadonlyMap<OpenAPIParameter | RequestBody, Edges>;

  constructor(requests: ValidRequests, bench: Bench) {
    const { parameters, body } = requests.operation;
    this.#operation = requests.operation;
    this.#requests = requests;
    this.#bench = bench;
    const inputs = body ? [...parameters, body] : parameters;
    this.#edges = new Map(inputs.map((input) => [input, edgesOf(input.schema, bench.schemas)]));
  }

  /** Sends a valid request, and others that differ from it in one thing. */
  async round(): Promise<void> {
    const body = this.#requests.body();
    const sent = this.#requests.make(body);
    if (this.#leadsElsewhere(sent)) return;
    const received = await this.#send(sent, { verdict: "valid" });
    if (this.#operation.method === "GET") await this.#tryHead(sent, received);
    if (this.#bench.isPure) await this.#tryDefaults(sent, body, received);
    for (const parameter of this.#operation.parameters) await this.#tryTexts(sent, parameter);
    if (!this.#operation.body) return;
    if (this.#operation.body.type === JSON_TYPE) await this.#tryJson(sent, body, this.#operation.body);
    if (isForm(this.#operation.body)) await this.#tryForms(sent, body, this.#operation.body);
    const absent = expect(this.#operation.body.isRequired ? "invalid" : "valid", bodySource(this.#operation.body), []);
    await this.#send({ ...sent, body: undefined }, absent);
  }

  /** Sends bodies that are valid or not, but survived in any case. */
  async tryTrickyBodies(): Promise<void> {
    const { body } = this.#operation;
    if (body?.type !== JSON_TYPE) return;
    const value = this.#requests.body();
    const sent = this.#requests.make(value);
    for (const text of trickyJson(JSON.stringify(value))) {
      await this.#send({ ...sent, body: { type: body.type, text } }, { verdict: "open" });
    }
  }

  async #tryHead(sent: Sent, { status, headers }: Received): Promise<void> {
    const { exchange } = this.#bench;
    const head = { ...sent, operation: { ...this.#operation, method: "HEAD" } };
    const received = await exchange.fetch(head);
    const isSame = received.headers.get("content-type") === headers.get("content-type");
    if (received.status !== status) exchange.report(head, received, `HEAD got ${received.status}, GET ${status}`);
    if (received.text !== "" || !isSame) exchange.report(head, received, "HEAD is not GET without its body");
  }

  /** Leaves values out. The result must be that of sending the document's defaults. */
  async #tryDefaults(sent: Sent, value: unknown, before: Received): Promise<void> {
    const { schemas, random, exchange } = this.#bench;
    const texts = new Map(sent.texts);
    for (const parameter of this.#operation.parameters) {
      const given = texts.has(parameter) ? undefined : defaultOf(parameter.schema, schemas);
      const written = given === undefined ? undefined : textsOf(given, parameter, random);
      if (written) texts.set(parameter, written);
    }
    const { body } = this.#operation;
    const given = body && withDefaults(value, body.schema, schemas);
    if (texts.size === sent.texts.size && JSON.stringify(given) === JSON.stringify(value)) return;
    const filled = { ...sent, texts, body: this.#requests.written(given) };
    const received = await this.#send(filled, { verdict: "valid" });
    if (received.status === before.status && received.text === before.text) return;
    exchange.report(filled, received, `what is left out is not the default: without it ${shortened(before.text)}`);
  }

  async #tryTexts(sent: Sent, parameter: OpenAPIParameter): Promise<void> {
    const { random, schemas } = this.#bench;
    const others = new Map(sent.texts);
    others.delete(parameter);
    const judge = async (texts: readonly string[]) => {
      const changed = { ...sent, texts: new Map([...others, [parameter, texts] as const]) };
      if (this.#leadsElsewhere(changed)) return;
      await this.#send(changed, expect(verdictOf(texts, parameter, schemas), parameter.in, [parameter.name]));
    };
    const texts = sent.texts.get(parameter) ?? [];
    const odd = oddTexts(parameter, this.#edges.get(parameter)!, random) ?? [];
    if (odd.length > 0) await judge(odd);
    if (parameter.in === "path") return;
    const absent = expect(parameter.required ? "invalid" : "valid", parameter.in, [parameter.name]);
    await this.#send({ ...sent, texts: others }, absent);
    if (parameter.in !== "query" || texts.length === 0) return;
    await judge([...texts, ...texts]);
    if (isList(parameter, schemas) && odd.length > 0) await judge([...texts, ...odd]);
  }

  async #tryJson(sent: Sent, value: unknown, body: RequestBody): Promise<void> {
    const { random, schemas } = this.#bench;
    const changes = new Changes(this.#edges.get(body)!, random);
    for (let turn = 0; turn < 3; turn++) {
      const change = changes.of(value);
      const verdict = verdictWithout(change.value, body.schema, schemas);
      await this.#send({ ...sent, body: this.#requests.written(change.value) }, expect(verdict, "body", change.place));
    }
    const text = random.pick(brokenJson(JSON.stringify(value)));
    await this.#send({ ...sent, body: { type: body.type, text } }, { verdict: "invalid", status: 400 });
    await this.#tryOtherType(sent, random.pick(OTHER_TYPES));
  }

  async #tryForms(sent: Sent, value: unknown, body: RequestBody): Promise<void> {
    const { random, schemas } = this.#bench;
    const fields = fieldsOf(value, body, schemas);
    const [name, schema] = random.pick(Object.entries(propertiesOf(body, schemas)));
    const others = fields.filter((field) => field.name !== name && !field.name.startsWith(`${name}[`));
    const judge = async (texts: readonly string[], verdict: Verdict) => {
      const changed = toBody([...others, ...texts.map((text) => ({ name, text }))], body.type);
      await this.#send({ ...sent, body: changed }, expect(verdict, "form", [name]));
    };
    const absent = schemas.verdict(
      body.schema,
      Object.fromEntries(Object.entries(value as object).filter(([key]) => key !== name)),
    );
    await judge([], absent);
    // A text for an object is refused, one for a file too.
    const field: OpenAPIParameter = { name, in: "query", required: absent !== "valid", schema: schema as JsonSchema };
    const odd = oddTexts(field, edgesOf(schema, schemas), random)!;
    const isEmpty = odd[0] === "" && !field.required;
    const verdict = fileType(schema) ? "invalid" : verdictOf(odd, field, schemas);
    await judge(odd, isEmpty ? "valid" : verdict);
    await judge([...odd, ...odd], fileType(schema) ? "invalid" : verdictOf([...odd, ...odd], field, schemas));
    await this.#send({ ...sent, body: random.pick(brokenForms(body)) }, { verdict: "invalid", status: 400 });
    await this.#tryOtherType(
      sent,
      random.pick(["application/json", "text/plain", "application/x-www-form", undefined]),
    );
  }

  async #tryOtherType(sent: Sent, type: string | undefined): Promise<void> {
    // Nothing is of any type.
    if (sent.body?.text === "") return;
    await this.#send({ ...sent, body: { ...sent.body!, type } }, { verdict: "invalid", status: 415 });
  }

  #send(sent: Sent, expectation: Expectation): Promise<Received> {
    return this.#bench.exchange.send(sent, expectation);
  }

  /**
   * Whether the texts in the path spell the path of another operation, or hide a dot segment, with
   * which no path is served.
   */
  #leadsElsewhere(sent: Sent): boolean {
    const { pathname } = new URL(urlOf(sent));
    const hasDots = decodeURIComponent(pathname).split("/").some((part) => part === "." || part === "..");
    return hasDots || this.#bench.paths.find(this.#operation.method, pathname) !== this.#operation;
  }
}

function bodySource(body: RequestBody): Fault["in"] {
  return isForm(body) ? "form" : "body";
}

function expect(verdict: Verdict, place: Fault["in"], path: Path): Expectation {
  return verdict === "invalid" ? { verdict, status: 422, fault: { in: place, path } } : { verdict };
}

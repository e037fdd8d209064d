// Holds an application against its document: sends what the document says is valid, and what it says is not.

import type { Random } from "../../unit/support/random.ts";
import {
  changed,
  isAccepted,
  ODD_TEXTS,
  operationPointer,
  type Parameter,
  parametersOf,
  type Sent,
  toRequest,
  toTexts,
} from "./inputs.ts";
import { lookUp, Schemas, step } from "./schemas.ts";

/** What is held against each other. */
export interface Subject {
  readonly document: object;
  readonly fetch: (request: Request) => Promise<Response>;
  /** Operations that refuse input for reasons that JSON Schema cannot tell, and which they are. */
  readonly choosy: Readonly<Record<string, string>>;
  /** Operations that are meant to fail. */
  readonly failing: readonly string[];
}

/** What was found. */
export interface Findings {
  /** How many requests of each kind were sent. */
  readonly sent: { valid: number; invalid: number };
  /** What is not as the document says, with the request. */
  readonly faults: string[];
}

type Expectation = "accepted" | "refused" | { readonly status: number };

const METHODS = ["get", "put", "post", "delete", "patch"];
/** Stands in refused input, and must not come back. */
const SECRET = "do-not-repeat-me";

/** Holds an application against its document, by so many rounds for each operation. */
export async function findFaults(subject: Subject, random: Random, rounds: number): Promise<Findings> {
  const findings: Findings = { sent: { valid: 0, invalid: 0 }, faults: [] };
  const schemas = new Schemas(subject.document, random);
  const { paths } = subject.document as { paths: Record<string, Record<string, unknown>> };
  for (const [path, item] of Object.entries(paths)) {
    for (const method of METHODS.filter((method) => method in item)) {
      const operation = new Operation(subject, schemas, random, path, method, findings);
      for (let round = 0; round < rounds; round++) await operation.run();
    }
    await checkOtherMethods(subject, path, item, findings);
  }
  return findings;
}

/** A method without an operation is refused with those that have one; HEAD is as GET. */
async function checkOtherMethods(
  { fetch }: Subject,
  path: string,
  item: Record<string, unknown>,
  findings: Findings,
): Promise<void> {
  if (path.includes("{") || "x-oai-additionalOperations" in item) return;
  const methods = Object.keys(item).map((method) => method.toUpperCase());
  if (methods.includes("GET")) methods.push("HEAD");
  const reply = await fetch(new Request(`http://localhost${path}`, { method: "REPORT" }));
  await reply.body?.cancel();
  const allowed = [...new Set(methods)].sort().join(", ");
  if (reply.status !== 405 || reply.headers.get("allow") !== allowed) {
    findings.faults.push(`REPORT ${path}: ${reply.status}, allow ${reply.headers.get("allow")}, not ${allowed}`);
  }
}

class Operation {
  readonly #subject: Subject;
  readonly #schemas: Schemas;
  readonly #random: Random;
  readonly #path: string;
  readonly #method: string;
  readonly #findings: Findings;
  readonly #pointer: string;
  readonly #parameters: readonly Parameter[];
  readonly #name: string;

  constructor(
    subject: Subject,
    schemas: Schemas,
    random: Random,
    path: string,
    method: string,
    findings: Findings,
  ) {
    this.#subject = subject;
    this.#schemas = schemas;
    this.#random = random;
    this.#path = path;
    this.#method = method.toUpperCase();
    this.#findings = findings;
    this.#pointer = operationPointer(path, method);
    this.#parameters = parametersOf(subject.document as Record<string, unknown>, this.#pointer);
    this.#name = `${this.#method} ${path}`;
  }

  async run(): Promise<void> {
    const valid = this.#valid();
    await this.#send(valid, "accepted");
    for (const parameter of this.#parameters) await this.#tryTexts(valid, parameter);
    if (valid.body) await this.#tryBodies(valid);
  }

  get #body(): { required?: boolean; content: Record<string, unknown> } | undefined {
    return lookUp(this.#subject.document as Record<string, unknown>, `${this.#pointer}/requestBody`) as undefined;
  }

  get #bodyPointer(): string {
    return `${this.#pointer}/requestBody/content${step("application/json")}/schema`;
  }

  #valid(): Sent {
    const texts = new Map<Parameter, readonly string[]>();
    for (const parameter of this.#parameters) {
      if (!parameter.required && this.#random.oneIn(2)) continue;
      const found = this.#validTexts(parameter);
      if (found) texts.set(parameter, found);
    }
    if (!this.#body) return { texts, body: undefined };
    const text = JSON.stringify(this.#schemas.valid(this.#bodyPointer));
    return { texts, body: { type: "application/json", text } };
  }

  #validTexts(parameter: Parameter): readonly string[] | undefined {
    for (let attempt = 0; attempt < 30; attempt++) {
      const texts = toTexts(this.#schemas.valid(parameter.pointer), parameter);
      const isSent = texts !== undefined && texts.length > 0;
      if (isSent && isAccepted(texts, parameter, this.#schemas)) return texts;
    }
    if (parameter.required) throw new Error(`No text was found for "${parameter.name}" of ${this.#name}`);
    return undefined;
  }

  async #tryTexts(valid: Sent, parameter: Parameter): Promise<void> {
    const withTexts = (texts: readonly string[] | undefined): Sent => {
      const all = new Map(valid.texts);
      if (texts) all.set(parameter, texts);
      else all.delete(parameter);
      return { ...valid, texts: all };
    };
    const odd = [this.#random.pick([...ODD_TEXTS, SECRET])];
    if (toTexts(odd[0], parameter)) {
      await this.#send(withTexts(odd), isAccepted(odd, parameter, this.#schemas) ? "accepted" : "refused", parameter);
    }
    if (parameter.in === "path") return;
    await this.#send(withTexts(undefined), parameter.required ? "refused" : "accepted", parameter);
    const texts = valid.texts.get(parameter);
    if (parameter.in === "query" && !parameter.isList && texts) {
      await this.#send(withTexts([...texts, ...texts]), "refused", parameter);
    }
  }

  async #tryBodies(valid: Sent): Promise<void> {
    const withBody = (text: string, type = "application/json"): Sent => ({ ...valid, body: { type, text } });
    const body = changed(JSON.parse(valid.body!.text), this.#random);
    const isValid = this.#schemas.accepts(this.#bodyPointer, body);
    await this.#send(withBody(JSON.stringify(body)), isValid ? "accepted" : "refused");
    await this.#send(withBody(`${valid.body!.text}]`), { status: 400 });
    await this.#send(withBody(valid.body!.text, "text/csv"), { status: 415 });
    await this.#send({ ...valid, body: undefined }, this.#body?.required ? "refused" : "accepted");
  }

  async #send(sent: Sent, expected: Expectation, parameter?: Parameter): Promise<void> {
    const request = toRequest(this.#method, this.#path, sent);
    const shown = `${request.method} ${request.url} ${JSON.stringify([...request.headers])} ${sent.body?.text ?? ""}`;
    const reply = await this.#subject.fetch(request);
    const text = await reply.text();
    const isRefusal = expected !== "accepted";
    this.#findings.sent[isRefusal ? "invalid" : "valid"]++;
    const faults = [
      ...this.#faultsOfStatus(reply.status, expected),
      ...this.#faultsOfReply(reply, text),
      ...(isRefusal && text.includes(SECRET) ? ["the reply repeats what was sent"] : []),
      ...(expected === "refused" && reply.status === 422 ? faultsOfIssues(text, parameter) : []),
    ];
    for (const fault of faults) {
      this.#findings.faults.push(`${this.#name}: ${fault}\n  ${shown}\n  ${reply.status} ${text}`);
    }
  }

  #faultsOfStatus(status: number, expected: Expectation): string[] {
    if (status >= 500 && !this.#subject.failing.includes(this.#name)) return [`it failed with ${status}`];
    if (typeof expected === "object") {
      return status === expected.status ? [] : [`${status} instead of ${expected.status}`];
    }
    if (expected === "refused") return status === 422 ? [] : [`invalid input got ${status}`];
    const isChoosy = this.#name in this.#subject.choosy && status === 422;
    return [400, 413, 415, 422].includes(status) && !isChoosy ? [`valid input got ${status}`] : [];
  }

  /** What is not as the document says of the reply. */
  #faultsOfReply(reply: Response, text: string): string[] {
    const document = this.#subject.document as Record<string, unknown>;
    const { responses } = lookUp(document, this.#pointer) as { responses: Record<string, unknown> };
    const key = [`${reply.status}`, `${Math.floor(reply.status / 100)}XX`, "default"].find((key) => key in responses);
    if (key === undefined) return [`the status ${reply.status} is not documented`];
    const { content } = lookUpReference(document, `${this.#pointer}/responses/${key}`) as { content?: object };
    if (!content) return text === "" ? [] : ["there is a body, though none is documented"];
    const type = reply.headers.get("content-type")?.split(";")[0] ?? "";
    if (!(type in content)) return "*/*" in content ? [] : [`the content type "${type}" is not documented`];
    const media = `${this.#pointer}/responses/${key}/content${step(type)}`;
    const described = lookUp(document, media) as Record<string, unknown>;
    const lines = type === "application/jsonl" ? text.split("\n").slice(0, -1) : [text];
    const name = type === "application/jsonl" ? "x-oai-itemSchema" : "schema";
    if (!(name in described)) return [];
    const place = resolved(document, `${media}/${name}`);
    return lines.every((line) => this.#schemas.accepts(place, JSON.parse(line)))
      ? []
      : ["the body is not as documented"];
  }
}

/** Every issue of a 422 tells the place of the one thing that was wrong. */
function faultsOfIssues(text: string, parameter: Parameter | undefined): string[] {
  const { errors } = JSON.parse(text) as { errors?: { in: string; path: unknown[] }[] };
  if (!errors || errors.length === 0) return ["the 422 tells no fault"];
  const wanted = parameter ? [parameter.in, parameter.name.toLowerCase()] : ["body"];
  const isTold = errors.some((issue) =>
    wanted.every((part, index) => part === (index === 0 ? issue.in : String(issue.path[0]).toLowerCase()))
  );
  return isTold ? [] : [`the 422 does not tell of ${wanted.join(" ")}`];
}

function lookUpReference(document: Record<string, unknown>, pointer: string): unknown {
  return lookUp(document, resolved(document, pointer));
}

/** The pointer without references on the way. */
function resolved(document: Record<string, unknown>, pointer: string): string {
  let at = "";
  for (const part of pointer.split("/").slice(1)) {
    at += `/${part}`;
    for (;;) {
      const { $ref } = Object(lookUp(document, at)) as { $ref?: unknown };
      if (typeof $ref !== "string") break;
      at = $ref.slice(1);
    }
  }
  return at;
}

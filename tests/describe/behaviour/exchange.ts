// Sends requests, and checks the replies against the document.

import type { Random } from "../../unit/support/random.ts";
import { type Expectation, faultsOf } from "./expectation.ts";
import { repeats } from "./refusals.ts";
import { faultsOfReply, type Received } from "./replies.ts";
import type { Schemas } from "./schemas.ts";
import { type Sent, shortened, toCommand, toRequest, urlOf } from "./sent.ts";
import type { Findings, Subject } from "./subject.ts";

/** Sends requests to one application. */
export class Exchange {
  readonly #subject: Subject;
  readonly #schemas: Schemas;
  readonly #random: Random;
  readonly #findings: Findings;
  readonly #document: string;
  /** Values by the names of properties, of which requests can be made. */
  readonly #known = new Map<string, Set<unknown>>();

  constructor(subject: Subject, schemas: Schemas, random: Random, findings: Findings) {
    this.#subject = subject;
    this.#schemas = schemas;
    this.#random = random;
    this.#findings = findings;
    this.#document = JSON.stringify(subject.document);
  }

  /** The values that replies gave under a name. */
  known(name: string): readonly unknown[] {
    return [...this.#known.get(name) ?? []];
  }

  /** Sends a request, and checks the reply. */
  async send(sent: Sent, expectation: Expectation): Promise<Received> {
    const { operation, texts, body } = sent;
    const url = urlOf(sent, this.#random);
    const received = await this.fetch(sent, url);
    this.#findings.sent[expectation.verdict]++;
    this.#findings.see(operation.name, received.status);
    const faults = [
      ...faultsOf(received, expectation, operation, this.#subject),
      ...faultsOfReply(received, operation, this.#schemas),
    ];
    const values = valuesOf([...texts.values()].flat(), body?.text ?? "");
    if (expectation.verdict === "invalid" && repeats(received, values, this.#document)) {
      faults.push("the refusal repeats what was sent");
    }
    for (const fault of faults) this.report(sent, received, fault, url);
    const isUseful = expectation.verdict === "valid" && received.headers.get("content-type") === "application/json";
    if (isUseful) this.#learn(received.text);
    return received;
  }

  /** Sends a request, which another one has shown to be answered. */
  async fetch(sent: Sent, url: string = urlOf(sent)): Promise<Received> {
    const response = await this.#subject.fetch(toRequest(sent, url));
    return { status: response.status, headers: response.headers, text: await response.text() };
  }

  /** Records a fault, with the request and the reply. */
  report(sent: Sent, { status, text }: Received, fault: string, url: string = urlOf(sent)): void {
    this.#findings.add(sent.operation.name, fault, `${toCommand(sent, url)}\n  ${status} ${shortened(text)}`);
  }

  #learn(json: string): void {
    JSON.parse(json, (name, value) => {
      if (typeof value !== "object") this.#known.set(name, (this.#known.get(name) ?? new Set()).add(value));
      return value;
    });
  }
}

/** All texts that were sent but for those that are keys of the body, which a refusal may name. */
function valuesOf(texts: readonly string[], json: string): string[] {
  // Such long texts are deeply nested, and slow to read.
  if (json.length > 10_000) return [...texts];
  const values = new Set(texts);
  const keys = new Set<string>();
  try {
    JSON.parse(json, (key, value) => {
      keys.add(key);
      if (typeof value === "string") values.add(value);
      return value;
    });
  } catch {
    // No JSON has no texts.
  }
  return [...values.difference(keys)];
}

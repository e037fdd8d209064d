// Requests that the document says are valid.

import type { OpenAPIParameter } from "../../../src/http/operation.ts";
import type { Random } from "../../unit/support/random.ts";
import { fieldsOf, isForm, isWritable, toBody } from "./form_fields.ts";
import type { Operation } from "./operations.ts";
import { textsOf, verdictOf } from "./parameter_texts.ts";
import type { Schemas } from "./schemas.ts";
import type { Sent } from "./sent.ts";
import type { Values } from "./values.ts";

/** Makes valid requests of one operation. */
export class ValidRequests {
  readonly operation: Operation;
  readonly #schemas: Schemas;
  readonly #values: Values;
  readonly #random: Random;
  readonly #tokens: readonly string[];

  constructor(operation: Operation, schemas: Schemas, values: Values, random: Random, tokens: readonly string[]) {
    this.operation = operation;
    this.#schemas = schemas;
    this.#values = values;
    this.#random = random;
    this.#tokens = tokens;
  }

  /** A request with this body, if there is one. */
  make(body: unknown): Sent {
    const texts = new Map<OpenAPIParameter, readonly string[]>();
    for (const parameter of this.operation.parameters) {
      if (parameter.required || this.#random.oneIn(2)) texts.set(parameter, this.#texts(parameter));
    }
    return { operation: this.operation, texts, body: this.written(body), headers: this.#credentials() };
  }

  /** A value for the body; undefined if there is no body. */
  body(): unknown {
    const { body } = this.operation;
    return body && this.#values.valid(body.schema, "", isForm(body) ? isWritable : undefined);
  }

  /** A value as the body. */
  written(value: unknown): Sent["body"] {
    const { body } = this.operation;
    if (!body) return undefined;
    if (isForm(body)) return toBody(fieldsOf(value, body, this.#schemas), body.type);
    const text = this.#random.oneIn(4) ? JSON.stringify(value, null, "\t") : JSON.stringify(value);
    return { type: this.#random.pick([body.type, `${body.type}; charset=utf-8`]), text };
  }

  #texts(parameter: OpenAPIParameter): readonly string[] {
    let texts: readonly string[] | undefined;
    this.#values.valid(parameter.schema, parameter.name, (value) => {
      texts = textsOf(value, parameter, this.#random);
      return texts !== undefined && verdictOf(texts, parameter, this.#schemas) === "valid";
    });
    return texts!;
  }

  #credentials(): Record<string, string> {
    const { security } = this.operation;
    const headers: Record<string, string> = {};
    if (security.length === 0 || this.#random.oneIn(8)) return headers;
    for (const { in: place, name, prefix } of this.#random.pick(security)) {
      const token = prefix + this.#random.pick(this.#tokens);
      if (place === "header") headers[name] = token;
      if (place === "cookie") headers.cookie = `${name}=${token}`;
    }
    return headers;
  }
}

/** What the document says of routes that run once for each `Idempotency-Key`. */
import type { DeclaredReply } from "../../binding/dependency.ts";
import type { Idempotency } from "../../idempotency/options.ts";
import type { OpenAPIParameter } from "./document.ts";

const NAME = "Idempotency-Key";

const DESCRIPTION =
  "Identifies the request: a random text, the same for each repetition of it. A repetition gets the reply of the first request again, with the header `Idempotency-Replayed`.";

const WRONG_KEY: DeclaredReply = { status: 400, description: "The Idempotency-Key is malformed, or missing." };

const BUSY_KEY: DeclaredReply = {
  status: 409,
  description:
    "The first request with the Idempotency-Key still runs, or its reply was too large or too slow to be kept.",
  headers: { "Retry-After": "The seconds after which to try again." },
};

const OTHER_REQUEST: DeclaredReply = {
  status: 422,
  description: "The Idempotency-Key was used for another request.",
};

/** The parameter for the key, unless the route declares the header itself. */
export function keyParameter(
  idempotency: Idempotency | undefined,
  declared: readonly OpenAPIParameter[],
): OpenAPIParameter[] {
  const isDeclared = declared.some(({ in: source, name }) =>
    source === "header" && name.toLowerCase() === NAME.toLowerCase()
  );
  if (!idempotency || isDeclared) return [];
  const schema = { type: "string", minLength: 1, maxLength: 255 } as const;
  return [{ name: NAME, in: "header", required: idempotency.isRequired, description: DESCRIPTION, schema }];
}

/**
 * The refusals of keys.
 *
 * @param canBeInvalid Whether the route has a 422 for its input, which has more to say.
 */
export function keyRefusals(idempotency: Idempotency | undefined, canBeInvalid: boolean): readonly DeclaredReply[] {
  if (!idempotency) return [];
  return canBeInvalid ? [WRONG_KEY, BUSY_KEY] : [WRONG_KEY, BUSY_KEY, OTHER_REQUEST];
}

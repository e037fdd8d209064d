/** The option `idempotent` of a route, and its checks. */
import { checkOptions, type Duration, type OptionNames, quote, toMilliseconds } from "../base/options.ts";
import { RouteError } from "../base/errors.ts";
import type { HttpRequest } from "../http/request.ts";
import type { RouteDeclaration } from "../http/route_info.ts";

/**
 * The option `idempotent` of a route. `Args` are the values of its dependencies.
 *
 * The first request with a key runs after its guards and its validation. While it runs, a
 * repetition is refused with 409; afterwards it gets the same reply. Temporary failures are not
 * kept: 5xx, 408, 409, 423, 425, 429, and others with `Retry-After`. A key of another input is
 * refused with 422: the validated input is compared, so a default that is new each time makes
 * another request.
 *
 * The reply is read before it is sent, up to 1 MiB and for 30 seconds, and is kept in the records
 * of the application, see {@linkcode Records}. Of a larger or slower one only the status is kept.
 *
 * @example A client that repeats a payment
 * ```ts
 * import { App } from "@webfw/core";
 * import { assertEquals } from "@std/assert";
 * import * as v from "valibot";
 *
 * const app = new App();
 * let paid = 0;
 * app.post("/payments", {
 *   body: v.object({ amount: v.number() }),
 *   idempotent: { window: "24h", required: true },
 * }, async (_request, { body }) => ({ total: paid += body.amount }));
 *
 * const pay = () =>
 *   app.fetch(
 *     new Request("http://localhost/payments", {
 *       method: "POST",
 *       headers: { "content-type": "application/json", "idempotency-key": "8e03978e" },
 *       body: '{"amount":5}',
 *     }),
 *   );
 * assertEquals(await (await pay()).json(), { total: 5 });
 * const again = await pay();
 * assertEquals([await again.json(), again.headers.get("idempotency-replayed")], [{ total: 5 }, "true"]);
 * assertEquals(paid, 5);
 * await app.stop();
 * ```
 */
export interface IdempotencyOptions<
  Args = Record<string, unknown>,
  State = Record<string, unknown>,
  Window extends Duration = Duration,
> {
  /** How long a reply is kept, from `1s` to `365d`. */
  window: Window;
  /**
   * Whether requests without the header are refused with 400. A tool cannot require it: agents do
   * not send it.
   *
   * @default {false}
   */
  required?: boolean;
  /**
   * Identifies the caller. Each has its own keys, for each host and path. By default the guards of
   * the route, and those around the mount of the application, identify it: by the issuer and the
   * subject of `jwt`, the name of `basic`, the subject of a session or else its id, and otherwise
   * by the credentials that the `security` of a guard names. A guard without `security` identifies
   * none.
   *
   * @param args The values of the dependencies.
   */
  by?(request: HttpRequest<State>, args: Args): string | number;
}

export interface Idempotency {
  readonly windowMs: number;
  readonly isRequired: boolean;
  readonly by: IdempotencyOptions["by"];
}

const OPTIONS: OptionNames<IdempotencyOptions> = { window: true, required: true, by: true };

const METHODS: ReadonlySet<string> = new Set(["POST", "PUT", "PATCH", "DELETE"]);

/** In milliseconds: a second, and a year. */
const MIN_WINDOW = 1_000;
const MAX_WINDOW = 365 * 24 * 3_600_000;

/**
 * @param method In upper case.
 * @param streams Why a route that streams cannot be idempotent.
 * @param name The route, for messages.
 * @throws {TypeError} If the option is unknown or wrong.
 * @throws {RangeError} If the window is out of range.
 * @throws {RouteError} With code `idempotent`, if the route cannot be idempotent.
 */
export function readIdempotency(
  { idempotent }: RouteDeclaration,
  method: string,
  streams: string | undefined,
  name: string,
): Idempotency | undefined {
  if (idempotent === undefined) return undefined;
  const action = `register ${name}`;
  const isObject = typeof idempotent === "object";
  if (isObject) checkOptions(idempotent, OPTIONS as OptionNames<object>, action, "idempotent.");
  const { window, required = false, by } = (isObject ? idempotent : { window: idempotent }) as IdempotencyOptions;
  if (typeof required !== "boolean") {
    throw new TypeError(`Cannot ${action}: "idempotent.required" must be true or false, got ${quote(required)}`);
  }
  if (by !== undefined && typeof by !== "function") {
    throw new TypeError(
      `Cannot ${action}: "idempotent.by" must be a function, got ${quote(by)}; write (request, { user }) => user.id`,
    );
  }
  const windowMs = toMilliseconds(window, `the idempotent window of ${name}`);
  if (windowMs < MIN_WINDOW || windowMs > MAX_WINDOW) {
    throw new RangeError(`Cannot ${action}: its idempotent window must be from 1s to 365d, got ${quote(window)}`);
  }
  if (!METHODS.has(method)) {
    throw new RouteError(
      "idempotent",
      `Cannot ${action}: a ${method} request cannot be idempotent by a key, leave out "idempotent"`,
    );
  }
  if (streams !== undefined) {
    throw new RouteError("idempotent", `Cannot ${action}: ${streams}, leave out "idempotent"`);
  }
  return { windowMs, isRequired: required, by };
}

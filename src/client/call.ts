/** Calls a route: one request, or several where it is idempotent. */
import { load } from "./load.ts";
import type { Values } from "./address.ts";
import { resultOf } from "./result.ts";
import type { Sender } from "./sender.ts";
import type { IdempotentOptions } from "./types.ts";

/**
 * Calls a route.
 *
 * @returns What the reply holds.
 * @throws {ProblemError} If the reply is no success.
 * @throws {TypeError} If an option is unknown, an argument cannot be sent, or the connection fails.
 */
export async function callRoute(
  sender: Sender,
  method: string,
  path: string,
  values: Values = {},
  options: IdempotentOptions = {},
): Promise<unknown> {
  const call = sender.begin(options, `call ${method} ${path}`, ["idempotent"]);
  const attempt = async (key?: string) => {
    const asked = { method, path, values, options, fixed: { "idempotency-key": key } };
    return await resultOf(await sender.send(asked, call), call);
  };
  let goesOn = false;
  try {
    const result = await call.until(
      options.idempotent
        ? load(() => import("./repetition.ts")).then(({ repeat }) => repeat(attempt, call, values.body))
        : attempt(),
    );
    goesOn = call.isStreaming;
    return result;
  } finally {
    call.settle();
    if (!goesOn) call.release();
  }
}

/** The reply to a request that made something. */
import * as v from "valibot";

/**
 * A 201 that says where the new thing is. It is cut to its model here: webfw sends a `Response` as it is.
 *
 * @param model What the client may see of it.
 * @param value The thing.
 * @param location Its path.
 */
export function created<Model extends v.GenericSchema>(
  model: Model,
  value: v.InferInput<Model>,
  location: string,
): Response {
  return Response.json(v.parse(model, value), { status: 201, headers: { location } });
}

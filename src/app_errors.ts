/** How an application shapes its error replies: what `onError` was given. */
import { checkErrorShape, type ErrorShape, type ErrorShaping } from "./describe/openapi/replies.ts";
import { RouteError } from "./errors.ts";
import { quote } from "./options.ts";
import type { ErrorHandler } from "./routing/middleware.ts";

/** The handler of an application's error replies, and what the document says of them. */
export class AppErrors<State> {
  #handler: ErrorHandler<State> | undefined;
  #shaping: ErrorShaping = "default";

  /** Shapes the replies, where there is one. */
  get handler(): ErrorHandler<State> | undefined {
    return this.#handler;
  }

  /** What the document says of the replies. */
  get shaping(): ErrorShaping {
    return this.#shaping;
  }

  /**
   * Sets the handler.
   *
   * @param handler The handler.
   * @param shape What its replies look like.
   * @param isServing Whether it is too late.
   * @throws {TypeError} When the handler is no function, or the shape cannot be read.
   * @throws {RouteError} With code `conflict`, when there is a handler already; `frozen`, when it
   * is too late.
   */
  set(handler: ErrorHandler<State>, shape: ErrorShape | undefined, isServing: boolean): void {
    if (isServing) throw new RouteError("frozen", "Cannot set the error handler: the application serves already");
    if (this.#handler) throw new RouteError("conflict", "Cannot set the error handler: there is one already");
    if (typeof handler !== "function") {
      throw new TypeError(
        `Cannot set the error handler: it must be a function, got ${quote(handler)}; write (error, request) => …`,
      );
    }
    if (shape !== undefined) checkErrorShape(shape);
    this.#handler = handler;
    this.#shaping = shape ?? "untold";
  }
}

/** What is reported where an application cannot start. */
import { describeError, log } from "../log/log.ts";
import { tracing } from "../log/telemetry.ts";

/** Logs the error, and records it on the span of the request that needs the application. */
export function reportFailedStart(error: unknown): void {
  tracing?.fail(error);
  log("error", "The application failed to start", { error: describeError(error) });
}

/** Calls the handler of a cron. */
import { loggerOf } from "../../log/log.ts";
import { makeLog } from "../../log/user_log.ts";
import type { AppHandle } from "../../http/app_handle.ts";
import type { CronHandler, DeclaredCron } from "./options.ts";

/** What a handler gets. */
interface CronCall {
  /** The time that is due, in milliseconds since 1970. */
  readonly scheduled: number;
  readonly signal: AbortSignal;
  readonly app: AppHandle;
  readonly state: unknown;
}

/** Calls the handler, and fails as it does. */
export async function callHandler(cron: DeclaredCron, { scheduled, signal, app, state }: CronCall): Promise<void> {
  const handler = cron.handler as CronHandler<unknown>;
  const due = new Date(scheduled);
  const returned = await handler({
    scheduled: due,
    signal,
    log: makeLog(loggerOf(app, { cron: cron.name, scheduled: due.toISOString() })),
    app,
    state: state as Readonly<unknown>,
  });
  // A returned error is a failure, like a thrown one.
  if (returned instanceof Error) throw returned;
}

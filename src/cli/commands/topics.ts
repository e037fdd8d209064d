/** Lists the durable topics of an application, for operators. */

import { type Command, CommandError, USAGE_EXIT_CODE } from "../command.ts";
import { CONFIG, runOnTarget, TARGET, TARGET_DETAILS } from "../launch.ts";
import { TopicsRunner } from "../runner/topics.ts";

export const TOPICS: Command = {
  name: "topics",
  summary: "List the durable topics and consumers of an application, or follow a topic",
  operand: TARGET,
  options: [
    { name: "tail", value: "topic", description: "Print new messages of a topic as lines of JSON" },
    { name: "from", value: "position", description: 'Start of --tail: "now" or "earliest" (default: now)' },
    {
      name: "after",
      value: "id",
      description: "Count the messages after this one; with --tail, start after it",
    },
    { name: "retry", value: "name", description: "Redeliver the failed messages of a consumer" },
    { name: "remove", value: "name", description: "Remove a consumer and its failed messages" },
    CONFIG,
  ],
  takesDenoFlags: true,
  details: `The store is that of the application: of its option "topics", else of WEBFW_TOPICS, else the
file .webfw/topics.sqlite beside the module. A missing file is not created. The application is
loaded, but not started. To list topics, all stored messages are read.

The name of a consumer is its topic, a slash and its own name. Its row has the age of the oldest
unhandled message (LAG), the messages in flight, the failed messages that are kept (FAILED),
those that were deleted before they were handled (LOST), and its last error.

${TARGET_DETAILS}`,
  examples: [
    "webfw topics main.ts:app",
    "webfw topics main.ts:app --after <id>",
    "webfw topics main.ts:app --tail orders",
    "webfw topics main.ts:app --tail orders --from earliest",
    "webfw topics main.ts:app --retry orders/mail",
  ],
  run(invocation) {
    const { values } = invocation;
    const tail = values.get("tail") ?? null;
    const after = values.get("after") ?? null;
    const from = values.get("from") ?? "now";
    if (from !== "now" && from !== "earliest") {
      throw new CommandError(`Cannot start from "${from}": expected now or earliest`, USAGE_EXIT_CODE);
    }
    if (values.has("from") && tail === null) {
      throw new CommandError('Option "--from" needs a topic: add "--tail <topic>"', USAGE_EXIT_CODE);
    }
    if (values.has("from") && after !== null) {
      throw new CommandError("Cannot start at two positions: remove --from or --after", USAGE_EXIT_CODE);
    }
    const retry = values.get("retry") ?? null;
    const remove = values.get("remove") ?? null;
    if ([tail, retry, remove].filter((value) => value !== null).length > 1) {
      throw new CommandError(
        "Cannot do two things at once: use only one of --tail, --retry and --remove",
        USAGE_EXIT_CODE,
      );
    }
    return runOnTarget(invocation, { runner: TopicsRunner, options: { tail, from, after, retry, remove } });
  },
};

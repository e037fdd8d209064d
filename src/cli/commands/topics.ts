/** The command that shows operators the durable topics of an application. */

import { type Command, CommandError, USAGE_EXIT_CODE } from "../command.ts";
import { CONFIG, runOnTarget, TARGET, TARGET_DETAILS } from "../launch.ts";
import { TopicsRunner } from "../runner/topics.ts";

export const TOPICS: Command = {
  name: "topics",
  summary: "List the durable topics and consumers of an application, or follow a topic",
  operand: TARGET,
  options: [
    { name: "tail", value: "topic", description: "Print the messages of a topic as they come, as lines of JSON" },
    { name: "from", value: "place", description: 'Where to begin with --tail: "now" or "earliest" (default: now)' },
    {
      name: "after",
      value: "id",
      description: "Tell how many messages come after this one; with --tail, begin after it",
    },
    { name: "retry", value: "name", description: "Deliver again what a consumer has given up" },
    { name: "remove", value: "name", description: "Forget a consumer, and what it has given up" },
    CONFIG,
  ],
  takesDenoFlags: true,
  details: `The store is the one that the application would use: that of its option "topics", else of
WEBFW_TOPICS, else the file .webfw/topics.sqlite beside the module. A file that is not there is
not made. The application is loaded, and not started. To list topics, all that they keep is read.

A consumer is named by its topic, a slash and its own name. Its row has the age of the oldest
message that is not done (LAG), the messages in hand, those that were given up and are kept
(FAILED), those that were removed before they were done (LOST), and its last error.

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
      throw new CommandError(`Cannot begin from "${from}": expected now or earliest`, USAGE_EXIT_CODE);
    }
    if (values.has("from") && tail === null) {
      throw new CommandError('Option "--from" needs a topic: add "--tail <topic>"', USAGE_EXIT_CODE);
    }
    if (values.has("from") && after !== null) {
      throw new CommandError("Cannot begin at two places: leave out --from or --after", USAGE_EXIT_CODE);
    }
    const retry = values.get("retry") ?? null;
    const remove = values.get("remove") ?? null;
    if ([tail, retry, remove].filter((value) => value !== null).length > 1) {
      throw new CommandError("Cannot do two things at once: give one of --tail, --retry and --remove", USAGE_EXIT_CODE);
    }
    return runOnTarget(invocation, { runner: TopicsRunner, options: { tail, from, after, retry, remove } });
  },
};

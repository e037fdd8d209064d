/** Lists the durable topics of an application, for operators. */

import { type Command, CommandError, USAGE_EXIT_CODE } from "../command.ts";
import { CONFIG, runOnTarget, TARGET, TARGET_DETAILS } from "../launch.ts";
import { type ConsumerAction, TopicsRunner } from "../runner/topics.ts";

const ACTIONS: readonly ConsumerAction[] = ["pause", "resume", "retry", "redrive", "remove"];

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
    { name: "schema", description: "Print the SQL that makes the tables in PostgreSQL or SQLite" },
    { name: "pause", value: "name", description: "Pause a consumer on all nodes" },
    { name: "resume", value: "name", description: "Resume a consumer" },
    { name: "retry", value: "name", description: "Redeliver the failed messages and dead letters of a consumer" },
    { name: "redrive", value: "name", description: "Redeliver only the dead letters of a consumer, each once" },
    { name: "remove", value: "name", description: "Remove a consumer and its failed messages" },
    CONFIG,
  ],
  takesDenoFlags: true,
  details: `The store is that of the application: of its option "topics", else of WEBFW_TOPICS, else the
file .webfw/topics.sqlite beside the module. A missing file is not created. The application is
loaded, but not started. To list topics, all stored messages are read. If messages are scheduled,
which are published later, there is a column with their number.

The name of a consumer is its topic, a slash and its own name. Its row has the age of the oldest
unhandled message (LAG), the messages in flight, the failed messages that are kept (FAILED),
those that were deleted before they were handled (LOST), whether it is paused, and its last error.
Nodes see a change within about a second.

${TARGET_DETAILS}`,
  examples: [
    "webfw topics main.ts:app",
    "webfw topics main.ts:app --after <id>",
    "webfw topics main.ts:app --tail orders",
    "webfw topics main.ts:app --tail orders --from earliest",
    "webfw topics main.ts:app --schema",
    "webfw topics main.ts:app --pause orders/mail",
    "webfw topics main.ts:app --redrive orders/mail",
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
    const given = ACTIONS.filter((action) => values.has(action));
    const schema = invocation.switches.has("schema");
    if (given.length + (tail === null ? 0 : 1) + (schema ? 1 : 0) > 1) {
      const all = ["tail", "schema", ...ACTIONS].map((name) => `--${name}`);
      throw new CommandError(
        `Cannot do two things at once: use only one of ${all.slice(0, -1).join(", ")} and ${all.at(-1)}`,
        USAGE_EXIT_CODE,
      );
    }
    const [action] = given;
    const change = action === undefined ? null : { action, name: values.get(action)! };
    return runOnTarget(invocation, { runner: TopicsRunner, options: { tail, from, after, schema, change } });
  },
};

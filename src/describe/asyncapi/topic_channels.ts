/** Topics as channels. */
import type { DeclaredTopic } from "../../topics/topics.ts";
import { pascalCase } from "../json_schema/model_names.ts";
import type { ChannelParts } from "./route_channels.ts";
import type { AsyncAPISchemas } from "./schemas.ts";

/** Units of time in milliseconds, the largest first. */
const UNITS = [[86_400_000, "days"], [3_600_000, "hours"], [60_000, "minutes"], [1_000, "seconds"]] as const;
const MIB = 2 ** 20;

/**
 * The channel of a topic, on which the application publishes.
 *
 * @throws {TypeError} If JSON Schema cannot describe its messages.
 */
export function topicChannel({ name, options }: DeclaredTopic, schemas: AsyncAPISchemas): ChannelParts {
  const { schema, isDurable, policy } = options;
  const id = `topic${pascalCase(name)}`;
  const payload = schema && schemas.of(schemas.models.jsonOutput(schema, `${pascalCase(name)}Message`));
  const place = isDurable
    ? "A durable topic: its messages are in a store, which processes can share."
    : "A topic in the memory of the process.";
  return {
    id,
    channel: {
      // Braces would be parameters.
      address: name.replaceAll("{", "%7B").replaceAll("}", "%7D"),
      description: `${place} It keeps ${keptOf(policy)}.`,
      messages: {
        message: {
          name: `${id}Message`,
          contentType: "application/json",
          headers: {
            type: "object",
            properties: {
              id: { type: "string", description: "The id of the message, by which readers resume." },
              type: { type: "string", description: "The kind of the message." },
            },
            required: ["id"],
          },
          ...(payload && { payload }),
        },
      },
    },
    operations: [{ action: "send", message: "message" }],
  };
}

/** What a topic keeps, in words. */
function keptOf({ age, count, bytes }: DeclaredTopic["options"]["policy"]): string {
  const bounds = [
    ...(count === Infinity ? [] : [`the last ${count} messages`]),
    ...(age === Infinity ? [] : [`messages of the last ${duration(age)}`]),
    ...(bytes === Infinity ? [] : [`at most ${Math.round(bytes / MIB * 10) / 10} MiB`]),
  ];
  return bounds.length === 0 ? "all messages" : bounds.join(", ");
}

function duration(ms: number): string {
  const [size, unit] = UNITS.find(([size]) => ms % size === 0) ?? [1, "milliseconds"];
  return `${ms / size} ${unit}`;
}

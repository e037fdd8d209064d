/**
 * The ids of events of topics: what a client has got of each. Of one topic it is the id of the message; of several it holds the
 * names, as they stand in URLs: `orders=3f9a0c21-000…,prices=77b1e0d4-000…`.
 */
import { HTTPError } from "../errors.ts";
import { checkId, type Subscription } from "../topics/subscription.ts";

/** How far a client has come in one of several topics. */
export interface TopicCursor {
  /** What stands before the cursor in an id. */
  readonly label: string;
  /** The id of the message that it got last. Undefined where the topic ended before that was known. */
  readonly cursor: string | undefined;
}

/** The label of a topic. */
export function toLabel(topic: string): string {
  return `${encodeURIComponent(topic)}=`;
}

/** The parts of an id. */
export function toParts(cursors: readonly TopicCursor[]): string[] {
  return cursors.flatMap(({ label, cursor }) => cursor === undefined ? [] : [label + cursor]);
}

/** The id of an event of several topics. */
export function toEventId(cursors: readonly TopicCursor[]): string {
  return toParts(cursors).join(",");
}

/**
 * Makes subscriptions go on after an event that a client has got. Topics that its stream did not have begin where they would.
 *
 * @param id What the client sent.
 * @param subscriptions The topics of the stream.
 * @throws {HTTPError} With 400, when no event can have had this id.
 */
export function resumeAfter(id: string, subscriptions: readonly Subscription[]): void {
  try {
    const cursors = parseEventId(id, subscriptions);
    for (const subscription of subscriptions) {
      const cursor = cursors.get(subscription.topic.name);
      if (cursor !== undefined) subscription.resumeAfter(cursor);
    }
  } catch (cause) {
    // SyntaxError of an id, URIError of a name. Anything else is a fault of the application.
    if (!(cause instanceof SyntaxError || cause instanceof URIError)) throw cause;
    throw new HTTPError(400, "The stream cannot go on after the last event id: no event of it has such an id", {
      cause,
    });
  }
}

function parseEventId(id: string, subscriptions: readonly Subscription[]): ReadonlyMap<string, string> {
  const [first] = subscriptions;
  const isBare = subscriptions.length === 1 && first !== undefined && !id.includes("=");
  const pairs = isBare ? [[first.topic.name, id] as const] : id.split(",").map(parsePart);
  for (const [, cursor] of pairs) checkId(cursor);
  return new Map(pairs);
}

function parsePart(part: string): readonly [topic: string, cursor: string] {
  const equals = part.indexOf("=");
  if (equals < 0) throw new SyntaxError("Cannot read the id of an event of several topics: a topic is missing");
  return [decodeURIComponent(part.slice(0, equals)), part.slice(equals + 1)];
}

/** Reads dead letters. */
import { countBytes, parseData } from "../../base/json_data.ts";
import type { StoredMessage } from "../../store/topic_store.ts";
import type { DeadLetter } from "../../topics/consume_options.ts";
import { isId, toPosition } from "../../topics/message.ts";
import type { ConsumerName } from "./record.ts";

export interface ReadLetter {
  /** The id of the message that was given up. */
  readonly id: string;
  /**
   * The message, with the time of the letter; undefined if its data was too large for the letter.
   */
  readonly message: StoredMessage | undefined;
}

/** Other programs may have written what is no JSON. */
function parseLetter(json: string): Partial<DeadLetter> | null {
  try {
    return parseData(json) as Partial<DeadLetter> | null;
  } catch {
    return null;
  }
}

/** Undefined for any other message, such as the letter of another consumer. */
export function readLetter({ data: json, time, trace }: StoredMessage, consumer: ConsumerName): ReadLetter | undefined {
  const letter = parseLetter(json);
  const isOwn = letter?.topic === consumer.topic && letter.consumer === consumer.name;
  if (!isOwn || !isId(letter.id)) return undefined;
  const { id, type, data, truncated } = letter;
  if (truncated || data === undefined) return { id, message: undefined };
  const text = JSON.stringify(data);
  const message = { cursor: toPosition(id).cursor, type: type ?? undefined, data: text, bytes: countBytes(text), time };
  return { id, message: { ...message, trace } };
}

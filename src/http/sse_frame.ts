/** The text of server-sent events as it goes over the wire: HTML Living Standard, section 9.2. */

/** The fields of one event. What is left out is not sent. */
export interface EventFields {
  /** The name of the event. */
  readonly event?: string | undefined;
  /** What the client resumes after. */
  readonly id?: string | undefined;
  /** How long the client waits before it connects again, in milliseconds. */
  readonly retry?: number | undefined;
  /** The data, of any number of lines. Without it the client notes the other fields, and tells nobody. */
  readonly data?: string | undefined;
}

/** A comment, which clients leave aside. */
export const COMMENT = ":\n\n";

/** Any of the three ends a line for the client, so that data is parted at each of them. */
const LINE_END = /\r\n|\r|\n/;

/** An id comes back in a header, which carries no control characters and is trimmed; a client drops one with a NUL. */
// deno-lint-ignore no-control-regex
const UNFIT_ID = /[\x00-\x1f\x7f]|^ | $/;

/**
 * The text of one event.
 *
 * @throws {TypeError} When the id would not come back as it was sent, or the name is more than a line.
 */
export function toFrame({ event, id, retry, data }: EventFields): string {
  let frame = "";
  if (retry !== undefined) frame += `retry: ${retry}\n`;
  if (id !== undefined) frame += `id: ${checkId(id)}\n`;
  if (event !== undefined) frame += `event: ${checkName(event)}\n`;
  if (data !== undefined) frame += toDataLines(data);
  return frame + "\n";
}

/** A client takes one space after the colon away: it is always there, so that none of the data's own goes. */
function toDataLines(data: string): string {
  if (!LINE_END.test(data)) return `data: ${data}\n`;
  return data.split(LINE_END).map((line) => `data: ${line}\n`).join("");
}

function checkId(id: string): string {
  if (id.isWellFormed() && !UNFIT_ID.test(id)) return id;
  throw new TypeError(
    "Cannot send the event: its id must be one line without control characters, and without spaces at its ends",
  );
}

function checkName(name: string): string {
  if (!LINE_END.test(name)) return name;
  throw new TypeError("Cannot send the event: its name must be one line");
}

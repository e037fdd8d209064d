/** The negotiation of compressed contents (RFC 9110, section 12.5.3). */

/** How a content can be compressed, the best first. */
export const ENCODINGS = ["br", "gzip"] as const;

export type Encoding = typeof ENCODINGS[number];

/**
 * Chooses what a client prefers of the compressed forms of a content.
 *
 * @param header The header `Accept-Encoding`.
 * @param offered The forms that there are.
 * @returns The form; undefined for the content as it is, which is always sent where nothing else is
 * accepted.
 */
export function chooseEncoding(header: string | null, offered: readonly Encoding[]): Encoding | undefined {
  if (header === null || offered.length === 0) return undefined;
  const weights = weightsOf(header);
  const any = weights.get("*");
  // A content as it is comes last, unless the client gives it a weight.
  let best = weights.get("identity") ?? 0;
  let chosen: Encoding | undefined;
  for (const encoding of ENCODINGS) {
    if (!offered.includes(encoding)) continue;
    const weight = weights.get(encoding) ?? (encoding === "gzip" ? weights.get("x-gzip") : undefined) ?? any ?? 0;
    if (weight === 0 || weight < best || (weight === best && chosen !== undefined)) continue;
    [best, chosen] = [weight, encoding];
  }
  return chosen;
}

function weightsOf(header: string): Map<string, number> {
  const weights = new Map<string, number>();
  for (const item of header.split(",")) {
    const [name = "", ...parameters] = item.split(";").map((part) => part.trim().toLowerCase());
    const weight = parameters.find((parameter) => parameter.startsWith("q="));
    const value = weight === undefined ? 1 : Number(weight.slice(2));
    // A weight that cannot be read is none: the content as it is suits every client.
    if (name !== "") weights.set(name, value > 0 && value <= 1 ? value : 0);
  }
  return weights;
}

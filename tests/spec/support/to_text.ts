// The text of a stream, seen while it comes.

/** Reads a stream to its end, and reports each part. */
export async function toText(
  stream: ReadableStream<Uint8Array<ArrayBuffer>>,
  onPart: (part: string) => void,
): Promise<string> {
  let text = "";
  for await (const part of stream.pipeThrough(new TextDecoderStream())) {
    text += part;
    onPart(part);
  }
  return text;
}

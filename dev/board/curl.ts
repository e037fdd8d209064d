// A recorded request as a command. Its values come from clients, and the command goes into a shell.

export interface CurlRequest {
  readonly method: string;
  /** From the path on. */
  readonly url: string;
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: string | null;
}

/** Headers that curl makes itself. */
const OWN = /^(?:host|content-length|connection|accept-encoding|transfer-encoding)$/;

// Control characters, line separators and direction marks: a terminal acts on some of them when they are pasted.
// deno-lint-ignore no-control-regex
const UNSAFE = /[\u0001-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/;

/**
 * A command for bash and zsh, and for any shell if all characters are printable.
 *
 * @throws {Error} If the body has a NUL character, which no argument can have.
 */
export function toCurl({ method, url, headers, body }: CurlRequest, origin: string): string {
  if (body?.includes("\0")) throw new Error("Cannot copy the request: its body has a NUL character");
  const sent = headers.filter(([name]) => !OWN.test(name));
  const parts = [
    // Otherwise curl expands brackets and braces to many URLs, and removes dots from the path.
    `curl --globoff --path-as-is ${quote(origin + url)}`,
    ...(method === "GET" ? [] : method === "HEAD" ? ["--head"] : [`-X ${quote(method)}`]),
    // An empty value with a colon would remove the header.
    ...sent.map(([name, value]) => `-H ${quote(value === "" ? `${name};` : `${name}: ${value}`)}`),
    ...(body === null ? [] : [`--data-raw ${quote(body)}`]),
  ];
  return parts.join(" \\\n  ");
}

function quote(text: string): string {
  if (!UNSAFE.test(text)) return `'${text.replaceAll("'", "'\\''")}'`;
  // As bytes, because the shell may not have a locale with UTF-8. Shells expand an exclamation mark here.
  const bytes = new TextEncoder().encode(text);
  const isPlain = (byte: number) => byte >= 0x20 && byte < 0x7f && !"'\\!".includes(String.fromCharCode(byte));
  return `$'${
    Array.from(bytes, (byte) => {
      return isPlain(byte) ? String.fromCharCode(byte) : `\\${byte.toString(8).padStart(3, "0")}`;
    }).join("")
  }'`;
}

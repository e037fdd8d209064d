// Captures the log on stderr, for tests.

/** Takes everything written to stderr until it is disposed of. */
export class CapturedLog implements Disposable {
  readonly #chunks: string[] = [];
  readonly #original = Deno.stderr.writeSync;
  readonly #isTerminal = Deno.stderr.isTerminal;

  /** @param isTerminal Whether stderr is to pass for a terminal. */
  constructor(isTerminal = false) {
    Deno.stderr.isTerminal = () => isTerminal;
    const decoder = new TextDecoder();
    Deno.stderr.writeSync = (bytes) => {
      this.#chunks.push(decoder.decode(bytes, { stream: true }));
      return bytes.length;
    };
  }

  /** The whole output. */
  get text(): string {
    return this.#chunks.join("");
  }

  /** The lines that were written. */
  get lines(): string[] {
    const lines = this.text.split("\n");
    return lines.slice(0, lines.at(-1) === "" ? -1 : undefined);
  }

  [Symbol.dispose](): void {
    Deno.stderr.writeSync = this.#original;
    Deno.stderr.isTerminal = this.#isTerminal;
  }
}

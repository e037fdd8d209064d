// What is held against its document, and what is found.

/** An application, and what is known of it beside its document. */
export interface Subject {
  readonly fetch: (request: Request) => Promise<Response>;
  /** The document, as its clients have it. */
  readonly document: unknown;
  /**
   * What operations refuse although JSON Schema cannot tell why: by operation, the places with the
   * reasons. A place is written like `body.lines.*.isbn`.
   */
  readonly choosy?: Readonly<Record<string, Readonly<Record<string, string>>>>;
  /** Operations, or tools, that are meant to fail. */
  readonly failing?: readonly string[];
  /** Credentials, of which any is sent. */
  readonly tokens?: readonly string[];
  /** Whether the same request always gets the same reply. */
  readonly isPure?: boolean;
}

/** What was found, and how much was looked at. */
export class Findings {
  /** The requests, by what the document says of them. */
  readonly sent: Record<"valid" | "invalid" | "open", number> = { valid: 0, invalid: 0, open: 0 };
  readonly #seed: number;
  readonly #faults: string[] = [];
  readonly #statuses = new Map<string, Set<number>>();

  /** Begins with nothing, for the seed of all that is sent. */
  constructor(seed: number) {
    this.#seed = seed;
  }

  /** What is not as the document says, each with what shows it. */
  get faults(): readonly string[] {
    return this.#faults;
  }

  /** The statuses that were seen, by operation. */
  get statuses(): ReadonlyMap<string, ReadonlySet<number>> {
    return this.#statuses;
  }

  /** Takes up a fault of an operation, a path or a tool. */
  add(name: string, fault: string, evidence: string): void {
    this.#faults.push(`${name}: ${fault}, with seed ${this.#seed}\n  ${evidence}`);
  }

  /** Takes up a status. */
  see(name: string, status: number): void {
    const seen = this.#statuses.get(name);
    if (seen) seen.add(status);
    else this.#statuses.set(name, new Set([status]));
  }
}

// The subject of the checks, and their findings.

/** An application, and facts about it that its document cannot express. */
export interface Subject {
  readonly fetch: (request: Request) => Promise<Response>;
  /** The document, as its clients have it. */
  readonly document: unknown;
  /**
   * Inputs that operations refuse for reasons that JSON Schema cannot express: for each operation,
   * the places with the reasons. A place is written like `body.lines.*.isbn`.
   */
  readonly choosy?: Readonly<Record<string, Readonly<Record<string, string>>>>;
  /** Operations, or tools, that are meant to fail. */
  readonly failing?: readonly string[];
  /** Credentials, of which any is sent. */
  readonly tokens?: readonly string[];
  /** Whether the same request always gets the same reply. */
  readonly isPure?: boolean;
}

/** The faults that were found, and the number of checks. */
export class Findings {
  /** The numbers of requests, by the document's verdict. */
  readonly sent: Record<"valid" | "invalid" | "open", number> = { valid: 0, invalid: 0, open: 0 };
  readonly #seed: number;
  readonly #faults: string[] = [];
  readonly #statuses = new Map<string, Set<number>>();

  /** Makes empty findings for a seed. */
  constructor(seed: number) {
    this.#seed = seed;
  }

  /** The differences from the document, each with its request and reply. */
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

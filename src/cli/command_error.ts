// The failure of a command that its user can understand and mend.

/** Exit code of a command line that cannot be understood. */
export const USAGE_EXIT_CODE = 2;

/** A failure that is told in one line, without a stack. */
export class CommandError extends Error {
  override readonly name = "CommandError";
  /** What the program exits with: 2 for a command line that cannot be understood, 1 for anything else. */
  readonly exitCode: number;

  constructor(message: string, exitCode = 1) {
    super(message);
    this.exitCode = exitCode;
  }
}

/** Commands, as declarations that the parser, the help and the completions read. */

export interface Option {
  /** The long name, without dashes. */
  readonly name: string;
  /** The short name, without the dash. */
  readonly letter?: string;
  /** What the help calls its value; a switch has none. */
  readonly value?: string;
  /** In one line. */
  readonly description: string;
}

/** The one argument of a command that is no option. */
export interface Operand {
  /** What the help calls it. */
  readonly name: string;
  /** The words that it may be; without them it is the path of a file. */
  readonly words?: readonly string[];
  /** A missing operand is an empty string. */
  readonly isOptional?: boolean;
}

/** The arguments of a command, checked against its declaration. */
export interface Invocation {
  readonly operand: string;
  /** By long name. */
  readonly values: ReadonlyMap<string, string>;
  /** The long names of the options without a value. */
  readonly switches: ReadonlySet<string>;
  /** Flags for the `deno run` that the command starts. */
  readonly denoFlags: readonly string[];
}

export interface Command {
  readonly name: string;
  /** In one line. */
  readonly summary: string;
  readonly operand: Operand;
  /** In the order of the help. */
  readonly options: readonly Option[];
  /** Whether the command starts `deno run` and takes flags for it. */
  readonly takesDenoFlags: boolean;
  /** Paragraphs of the help, after the options. */
  readonly details: string;
  /** Command lines, at the end of the help. */
  readonly examples: readonly string[];
  /** Does the work and gives the exit code. */
  readonly run: (invocation: Invocation) => Promise<number>;
}

/** The option that every command has. */
export const HELP: Option = {
  name: "help",
  letter: "h",
  description: "Print this help",
};

/** The exit code for a command line that cannot be understood. */
export const USAGE_EXIT_CODE = 2;

/** A failure that the user can correct. It is reported in one line, without a stack. */
export class CommandError extends Error {
  override readonly name = "CommandError";
  /** 2 for a command line that cannot be understood, 1 for any other failure. */
  readonly exitCode: number;

  constructor(message: string, exitCode = 1) {
    super(message);
    this.exitCode = exitCode;
  }
}

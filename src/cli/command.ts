/** What a command is: a declaration that the parser, the help and the completions read. */

/** An option of a command. */
export interface Option {
  /** Long name, without the dashes. */
  readonly name: string;
  /** One-letter name, without the dash. */
  readonly letter?: string;
  /** What the help calls its value; a switch has none. */
  readonly value?: string;
  /** In one line. */
  readonly description: string;
}

/** The one argument of a command that is not an option. */
export interface Operand {
  /** What the help calls it. */
  readonly name: string;
  /** The words it may be; without them it is the path of a file. */
  readonly words?: readonly string[];
  /** Whether it may be left out; it is an empty string then. */
  readonly isOptional?: boolean;
}

/** The arguments of a command, checked against its declaration. */
export interface Invocation {
  readonly operand: string;
  /** Values of the options that were given, by their long names. */
  readonly values: ReadonlyMap<string, string>;
  /** Long names of the switches that were given. */
  readonly switches: ReadonlySet<string>;
  /** Flags for the `deno run` that the command starts. */
  readonly denoFlags: readonly string[];
}

/** A command of the program. */
export interface Command {
  readonly name: string;
  /** In one line. */
  readonly summary: string;
  readonly operand: Operand;
  /** In the order of the help. */
  readonly options: readonly Option[];
  /** Whether it starts `deno run` and takes flags for it. */
  readonly takesDenoFlags: boolean;
  /** Paragraphs of its help, after the options. */
  readonly details: string;
  /** Command lines to copy, at the end of its help. */
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

/** A failure that the user can mend. It is reported in one line, without a stack. */
export class CommandError extends Error {
  override readonly name = "CommandError";
  /** 2 for a command line that cannot be understood, 1 for any other failure. */
  readonly exitCode: number;

  constructor(message: string, exitCode = 1) {
    super(message);
    this.exitCode = exitCode;
  }
}

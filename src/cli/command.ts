// What a command of the program is: one declaration that the parser, the help and the completions read. Knows no
// particular command.

/** An option of a command. */
export interface Option {
  /** Long name, without the dashes. */
  readonly name: string;
  /** One-letter name, without the dash. */
  readonly letter?: string;
  /** What the help calls its value; a switch has none. */
  readonly value?: string;
  /** What it does, in one line. */
  readonly description: string;
}

/** The one argument of a command that is not an option. */
export interface Operand {
  /** What the help calls it. */
  readonly name: string;
  /** The words it may be; without them it is the path of a file. */
  readonly words?: readonly string[];
  /** Whether it may be left out; it is an empty text then. */
  readonly isOptional?: boolean;
}

/** What was given to a command on the command line, checked against its declaration. */
export interface Invocation {
  /** The operand. */
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
  /** The word that selects it. */
  readonly name: string;
  /** What it does, in one line. */
  readonly summary: string;
  /** What it works on. */
  readonly operand: Operand;
  /** Its options, in the order of the help. */
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

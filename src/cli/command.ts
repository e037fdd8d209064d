/** Declarations of commands, for help and completions, and the parser of arguments. */
import { parseArgs } from "@std/cli/parse-args";
import { near } from "../base/options.ts";

export interface Option {
  readonly name: string;
  readonly letter?: string;
  /** The name of its value; a switch has none. */
  readonly value?: string;
  readonly description: string;
}

export interface Operand {
  readonly name: string;
  /** Without them, it is the path of a file. */
  readonly words?: readonly string[];
  /** If missing, it is an empty string. */
  readonly isOptional?: boolean;
}

export interface Invocation {
  readonly operand: string;
  /** By long name. */
  readonly values: ReadonlyMap<string, string>;
  /** Long names. */
  readonly switches: ReadonlySet<string>;
  /** For `deno run`. */
  readonly denoFlags: readonly string[];
}

export interface Command {
  readonly name: string;
  readonly summary: string;
  readonly operand: Operand;
  /** In the order of the help. */
  readonly options: readonly Option[];
  /** Whether it starts `deno run`, and accepts its flags. */
  readonly takesDenoFlags: boolean;
  /** Paragraphs after the options. */
  readonly details: string;
  /** At the end of the help. */
  readonly examples: readonly string[];
  readonly run: (invocation: Invocation) => Promise<number>;
}

export const HELP: Option = {
  name: "help",
  letter: "h",
  description: "Print this help",
};

export const USAGE_EXIT_CODE = 2;

/** The user can correct it: printed in one line, without a stack. */
export class CommandError extends Error {
  override readonly name = "CommandError";
  /** 2 for an invalid command line, else 1. */
  readonly exitCode: number;

  constructor(message: string, exitCode = 1) {
    super(message);
    this.exitCode = exitCode;
  }
}

const PERMISSION =
  /^(-A|-[RWNEIS]+(=.*)?|-P(=.*)?|--permission-set(=.*)?|--allow-(?!scripts)[a-z]+(=.*)?|--(deny|ignore)-[a-z]+(=.*)?)$/s;

export const KV_FLAG = "--unstable-kv";

/** They need no "--": `env --permissions` and guides print them. */
const BARE: ReadonlySet<string> = new Set(["--no-prompt", KV_FLAG]);

/** Returns `null` for `--help`. Throws a `CommandError` for an invalid command line. */
export function parseInvocation(command: Command, args: readonly string[]): Invocation | null {
  const end = args.indexOf("--");
  const given = end === -1 ? args : args.slice(0, end);
  const laterFlags = end === -1 ? [] : args.slice(end + 1);
  if (laterFlags.length > 0 && !command.takesDenoFlags) throw usageError(command, "It takes no flags for Deno");
  // The parser would read the argument after an unknown flag as its value.
  const isFlag = (argument: string) => command.takesDenoFlags && (BARE.has(argument) || PERMISSION.test(argument));
  const options = [...command.options, HELP];
  const parsed = parseArgs(joinNegativeValues(command, given.filter((argument) => !isFlag(argument))), {
    string: ["_", ...longNames(options.filter(takesValue))],
    boolean: longNames(options.filter((option) => !takesValue(option))),
    alias: Object.fromEntries(options.flatMap(({ name, letter }) => letter ? [[letter, name]] : [])),
    unknown(argument, key) {
      if (key !== undefined) throw unknownOption(argument, options, command);
    },
  });
  if (parsed["help"] === true) return null;
  const values = new Map<string, string>();
  for (const { name } of options.filter(takesValue)) {
    const value = parsed[name];
    if (value === undefined) continue;
    if (value === "") throw usageError(command, `Option "--${name}" needs a value`);
    values.set(name, String(value));
  }
  const [operand, surplus] = parsed._.map(String);
  if (operand === undefined && !command.operand.isOptional) {
    throw usageError(command, `<${command.operand.name}> is missing`);
  }
  if (surplus !== undefined) throw usageError(command, `Unexpected argument "${surplus}"`);
  return {
    operand: operand ?? "",
    values,
    switches: new Set(longNames(options).filter((name) => parsed[name] === true)),
    denoFlags: [...given.filter(isFlag), ...laterFlags],
  };
}

/** Unless there is a permission flag. */
export function withPermissions(flags: readonly string[]): string[] {
  return flags.some((flag) => PERMISSION.test(flag)) ? [...flags] : ["-A", ...flags];
}

export function unknownOption(argument: string, options: readonly Option[], command?: Command): CommandError {
  const given = argument.split("=", 1)[0]!;
  const guess = guessOption(given, options);
  return new CommandError(
    `Unknown option "${given}": ${guess === undefined ? whereToLook(command) : `did you mean "${guess}"?`}`,
    USAGE_EXIT_CODE,
  );
}

function whereToLook(command: Command | undefined): string {
  if (command === undefined) return `see "webfw --help"`;
  const flags = command.takesDenoFlags ? `flags of "deno run" follow "--", ` : "";
  return `${flags}see "webfw ${command.name} --help"`;
}

const OTHER_NAMES: Readonly<Record<string, string>> = { __proto__: null!, new: "init", create: "init" };

/** Suggests the nearest command or option. */
export function unknownCommand(
  word: string,
  commands: readonly Command[],
  options: readonly Option[],
): CommandError {
  const known = [...commands.map(({ name }) => name), ...longNames(options).map((name) => `--${name}`)];
  // A path or a target has one of these characters, a command has none.
  const guess = /[.:/\\]/.test(word) ? `run ${word}` : OTHER_NAMES[word] ?? near(word, known) ?? "run";
  return new CommandError(`Unknown command "${word}": did you mean "${guess}"?`, USAGE_EXIT_CODE);
}

function guessOption(given: string, options: readonly Option[]): string | undefined {
  if (given.startsWith("--")) {
    const name = near(given.slice(2), longNames(options));
    return name && `--${name}`;
  }
  const letter = options.map(({ letter }) => letter).find((letter) =>
    letter?.toLowerCase() === given.slice(1).toLowerCase()
  );
  return letter && `-${letter}`;
}

/** The parser would read a negative number as an option. */
function joinNegativeValues({ options }: Command, args: readonly string[]): string[] {
  const joined: string[] = [];
  for (const arg of args) {
    const last = joined.at(-1);
    const option = options.filter(takesValue).find(({ name, letter }) =>
      last === `--${name}` || letter !== undefined && last === `-${letter}`
    );
    if (option && /^-\d/.test(arg)) joined.splice(-1, 1, `--${option.name}=${arg}`);
    else joined.push(arg);
  }
  return joined;
}

function usageError(command: Command, problem: string): CommandError {
  return new CommandError(`${problem}: see "webfw ${command.name} --help"`, USAGE_EXIT_CODE);
}

function takesValue(option: Option): boolean {
  return option.value !== undefined;
}

function longNames(options: readonly Option[]): string[] {
  return options.map(({ name }) => name);
}

/** Parses the arguments of a command by its declaration. */

import { parseArgs } from "@std/cli/parse-args";
import { type Command, CommandError, HELP, type Invocation, type Option, USAGE_EXIT_CODE } from "./command.ts";
import { near } from "../base/options.ts";
import { KV_FLAG } from "./permission_flags.ts";

/** A flag of Deno that says what a program may do. */
const PERMISSION =
  /^(-A|-[RWNEIS]+(=.*)?|-P(=.*)?|--permission-set(=.*)?|--allow-(?!scripts)[a-z]+(=.*)?|--(deny|ignore)-[a-z]+(=.*)?)$/s;

/** Flags of Deno that need no "--" before them, since `env --permissions` and guides name them. */
const BARE: ReadonlySet<string> = new Set(["--no-prompt", KV_FLAG]);

/**
 * Parses what follows the name of a command.
 *
 * @returns `null` if the user asks for the help.
 * @throws {CommandError} If the arguments do not fit the declaration.
 */
export function parseInvocation(command: Command, args: readonly string[]): Invocation | null {
  const end = args.indexOf("--");
  const given = end === -1 ? args : args.slice(0, end);
  const laterFlags = end === -1 ? [] : args.slice(end + 1);
  if (laterFlags.length > 0 && !command.takesDenoFlags) throw usageError(command, "It takes no flags for Deno");
  // The parser would take the argument after an unknown flag for its value.
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

/** Adds all permissions to flags that mention none. */
export function withPermissions(flags: readonly string[]): string[] {
  return flags.some((flag) => PERMISSION.test(flag)) ? [...flags] : ["-A", ...flags];
}

/** The error for an option that is not declared, with the nearest one. */
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

/** What other tools call a command. */
const OTHER_NAMES: Readonly<Record<string, string>> = { __proto__: null!, new: "init", create: "init" };

/** The error for a word that is no command, with the nearest command or option. */
export function unknownCommand(
  word: string,
  commands: readonly Command[],
  options: readonly Option[],
): CommandError {
  const known = [...commands.map(({ name }) => name), ...longNames(options).map((name) => `--${name}`)];
  // Paths and targets have one of these characters, commands have none.
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

/** Joins negative numbers to the option before them: the parser would take them for options. */
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

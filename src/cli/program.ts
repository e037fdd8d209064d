/** The program `webfw`: its commands and its own options. */

import config from "../../deno.json" with { type: "json" };
import { type Command, CommandError, HELP, type Option, USAGE_EXIT_CODE } from "./command.ts";
import { ASYNCAPI, OPENAPI } from "./commands/documents.ts";
import { ENV } from "./commands/env.ts";
import { INIT } from "./commands/init.ts";
import { ROUTES } from "./commands/routes.ts";
import { RUN } from "./commands/run.ts";
import { TOPICS } from "./commands/topics.ts";
import { completionsCommand } from "./completions.ts";
import { commandHelp, helpCommand, programHelp } from "./help.ts";
import { parseInvocation, unknownCommand, unknownOption } from "./parse.ts";

const VERSION: Option = {
  name: "version",
  letter: "V",
  description: "Print the version",
};
const OPTIONS: readonly Option[] = [HELP, VERSION];
const COMMANDS: Command[] = [INIT, RUN, OPENAPI, ASYNCAPI, ROUTES, TOPICS, ENV];
// Both read the list when they run, when they are part of it.
COMMANDS.push(completionsCommand(COMMANDS, OPTIONS), helpCommand(COMMANDS, OPTIONS));

/**
 * Runs a command line and gives the exit code. Failures that the user can correct go to stderr, in
 * one line each.
 *
 * @throws Any other failure, which is a fault of the program.
 */
export async function runProgram(args: readonly string[]): Promise<number> {
  try {
    return await dispatch(args);
  } catch (error) {
    if (!(error instanceof CommandError)) throw error;
    console.error(`error: ${error.message}`);
    return error.exitCode;
  }
}

async function dispatch([word, ...rest]: readonly string[]): Promise<number> {
  if (word === undefined) {
    console.error(programHelp(COMMANDS, OPTIONS));
    return USAGE_EXIT_CODE;
  }
  const option = OPTIONS.find(({ name, letter }) => word === `--${name}` || word === `-${letter}`);
  if (option !== undefined) {
    console.log(
      option === HELP ? programHelp(COMMANDS, OPTIONS) : `webfw ${config.version} (Deno ${Deno.version.deno})`,
    );
    return 0;
  }
  if (word.startsWith("-")) throw unknownOption(word, OPTIONS);
  const command = COMMANDS.find(({ name }) => name === word);
  if (command === undefined) throw unknownCommand(word, COMMANDS, OPTIONS);
  const invocation = parseInvocation(command, rest);
  if (invocation !== null) return await command.run(invocation);
  console.log(commandHelp(command));
  return 0;
}

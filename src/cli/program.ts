/** The program `webfw`: its commands, its own options, and the help. */
import config from "../../deno.json" with { type: "json" };
import {
  type Command,
  CommandError,
  HELP,
  type Option,
  parseInvocation,
  unknownCommand,
  unknownOption,
  USAGE_EXIT_CODE,
} from "./command.ts";
import { ASYNCAPI, OPENAPI, ROUTES } from "./commands/inspect.ts";
import { ENV } from "./commands/env.ts";
import { INIT } from "./commands/init.ts";
import { RUN } from "./commands/run.ts";
import { TOPICS } from "./commands/topics.ts";
import { completionsCommand } from "./completions.ts";

const VERSION: Option = {
  name: "version",
  letter: "V",
  description: "Print the version",
};
const OPTIONS: readonly Option[] = [HELP, VERSION];
const COMMANDS: Command[] = [INIT, RUN, OPENAPI, ASYNCAPI, ROUTES, TOPICS, ENV];
// Both read the list when they run, so it includes them.
COMMANDS.push(completionsCommand(COMMANDS, OPTIONS), helpCommand(COMMANDS, OPTIONS));

/** A failure that the user can correct is one line on stderr; a bug is thrown. */
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

/** Of the program and the framework. */
const ENVIRONMENT: readonly (readonly [name: string, description: string])[] = [
  ["PORT", "Port to listen on, unless an option sets it (default: 8000)"],
  ["WEBFW_HOST", "Address to listen on, unless an option sets it (default: 127.0.0.1)"],
  ["WEBFW_CONFIG", "Configuration of the application, unless --config sets it"],
  ["WEBFW_LOG", 'Log entries as "json", or "full" for all frames of errors (default: lines)'],
  ["WEBFW_TOPICS", "Store of durable topics: a path, or the URL of a denokv, NATS or PostgreSQL"],
  ["DENO_KV_ACCESS_TOKEN", "Access token of this denokv"],
  ["PGPASSWORD", "Password of the role in PostgreSQL"],
  ["TMPDIR", "Folder for large uploads during a request (default: that of the system)"],
];

export function programHelp(commands: readonly Command[], options: readonly Option[]): string {
  return `Serve and inspect web applications

Usage: webfw <command> [options]

Commands:
${table(commands.map(({ name, summary }) => [name, summary]))}

Options:
${optionTable(options)}

Environment:
${table(ENVIRONMENT)}

"webfw help <command>" explains a command. "wfw" is the same program.`;
}

export function commandHelp(command: Command): string {
  const { name, summary, operand, options, takesDenoFlags, details, examples } = command;
  const words = operand.words?.join("|") ?? operand.name;
  const operandText = operand.isOptional ? `[${words}]` : `<${words}>`;
  return `${summary}

Usage: webfw ${name} [options] ${operandText}${takesDenoFlags ? " [-- <deno flags>]" : ""}

Options:
${optionTable([...options, HELP])}

${details}

Examples:
${examples.map((example) => `  ${example}`).join("\n")}`;
}

export function helpCommand(commands: readonly Command[], options: readonly Option[]): Command {
  return {
    name: "help",
    summary: "Print the help of the program or of a command",
    operand: {
      name: "command",
      get words() {
        return commands.map(({ name }) => name);
      },
      isOptional: true,
    },
    options: [],
    takesDenoFlags: false,
    details: `"webfw <command> --help" prints the same.`,
    examples: ["webfw help run"],
    run({ operand }) {
      const command = commands.find(({ name }) => name === operand);
      if (operand !== "" && command === undefined) throw unknownCommand(operand, commands, options);
      console.log(command ? commandHelp(command) : programHelp(commands, options));
      return Promise.resolve(0);
    },
  };
}

function optionTable(options: readonly Option[]): string {
  return table(options.map(({ name, letter, value, description }) => [
    `${letter ? `-${letter}, ` : "    "}--${name}${value ? ` <${value}>` : ""}`,
    description,
  ]));
}

function table(rows: readonly (readonly [string, string])[]): string {
  const width = Math.max(...rows.map(([left]) => left.length));
  return rows.map(([left, right]) => `  ${left.padEnd(width)}  ${right}`).join("\n");
}

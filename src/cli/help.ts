/** The help, made from the declarations of the commands. */

import { type Command, HELP, type Option } from "./command.ts";
import { unknownCommand } from "./parse.ts";

/** The variables that the program and the framework read. */
const ENVIRONMENT: readonly (readonly [name: string, description: string])[] = [
  ["PORT", "Port to listen on, where no option names one (default: 8000)"],
  ["WEBFW_HOST", "Address to listen on, where no option names one (default: 127.0.0.1)"],
  ["WEBFW_CONFIG", "Configuration of the application, where --config does not name one"],
  ["WEBFW_LOG", 'Log entries as "json", or "full" for all frames of errors (default: lines)'],
  ["WEBFW_TOPICS", "Where durable topics are kept: the path of a file, or the URL of a denokv"],
  ["DENO_KV_ACCESS_TOKEN", "The token that this denokv asks for"],
  ["TMPDIR", "Folder of large uploads while a request lasts (default: that of the system)"],
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

"webfw help <command>" has more about a command. "wfw" is the same program.`;
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

/** The command that prints the help of the program or of a command. */
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

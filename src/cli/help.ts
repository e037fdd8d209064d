// The help, written from the declarations of the commands.

import { type Command, HELP, type Option } from "./command.ts";

/** The help of the program. */
export function programHelp(commands: readonly Command[], options: readonly Option[]): string {
  return `Serve and inspect web applications

Usage: webfw <command> [options]

Commands:
${table(commands.map(({ name, summary }) => [name, summary]))}

Options:
${optionTable(options)}

"webfw <command> --help" tells more of a command. "wfw" is the same program.`;
}

/** The help of a command. */
export function commandHelp(command: Command): string {
  const { name, summary, operand, options, takesDenoFlags, details } = command;
  const operandText = operand.words?.join("|") ?? operand.name;
  return `${summary}

Usage: webfw ${name} [options] <${operandText}>${takesDenoFlags ? " [-- <deno flags>]" : ""}

Options:
${optionTable([...options, HELP])}

${details}`;
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

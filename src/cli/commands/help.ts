// The command that prints the help of the program, or of another command.

import type { Command, Option } from "../command.ts";
import { commandHelp, programHelp } from "../help.ts";
import { unknownCommand } from "../parse.ts";

/** `webfw help`, for a program with these commands and these options of its own. */
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

// The command that prints completions for a shell.

import type { Command, Option } from "../command.ts";
import { CommandError, USAGE_EXIT_CODE } from "../command_error.ts";
import { bashCompletions } from "../completions/bash.ts";
import { fishCompletions } from "../completions/fish.ts";
import { zshCompletions } from "../completions/zsh.ts";

/** Writes the script of a shell from the declarations of the program. */
type Completions = (commands: readonly Command[], options: readonly Option[]) => string;

const SHELLS: ReadonlyMap<string, Completions> = new Map([
  ["bash", bashCompletions],
  ["zsh", zshCompletions],
  ["fish", fishCompletions],
]);

/** `webfw completions`, for a program with these commands and these options of its own. */
export function completionsCommand(commands: readonly Command[], options: readonly Option[]): Command {
  return {
    name: "completions",
    summary: "Print completions for a shell",
    operand: { name: "shell", words: [...SHELLS.keys()] },
    options: [],
    takesDenoFlags: false,
    details: `A shell reads them when it starts: put the first line below into ~/.bashrc, or the second
one into ~/.zshrc. For fish, run the third one once.`,
    examples: [
      "source <(webfw completions bash)",
      "source <(webfw completions zsh)",
      "webfw completions fish > ~/.config/fish/completions/webfw.fish",
    ],
    run({ operand }) {
      const completions = SHELLS.get(operand);
      if (completions === undefined) {
        throw new CommandError(
          `Unknown shell "${operand}": expected ${[...SHELLS.keys()].join(", ")}`,
          USAGE_EXIT_CODE,
        );
      }
      console.log(completions(commands, options));
      return Promise.resolve(0);
    },
  };
}

// Completions for bash.

import { type Command, HELP, type Option } from "../command.ts";

/** The script that bash reads. Where it offers nothing, bash completes paths. */
export function bashCompletions(commands: readonly Command[], options: readonly Option[]): string {
  const words = [...commands.map(({ name }) => name), ...flags(options)];
  return `_webfw() {
  local word="\${COMP_WORDS[COMP_CWORD]}" words=""
  if ((COMP_CWORD == 1)); then
    words="${words.join(" ")}"
  else
    case "\${COMP_WORDS[1]}/$word" in
${commands.map(cases).join("\n")}
    esac
  fi
  COMPREPLY=($(compgen -W "$words" -- "$word"))
}
complete -o default -F _webfw webfw wfw`;
}

function cases({ name, operand, options }: Command): string {
  const lines = [
    `      ${name}/-*) words="${flags([...options, HELP]).join(" ")}" ;;`,
  ];
  if (operand.words) lines.push(`      ${name}/*) words="${operand.words.join(" ")}" ;;`);
  return lines.join("\n");
}

function flags(options: readonly Option[]): string[] {
  return options.map(({ name }) => `--${name}`);
}

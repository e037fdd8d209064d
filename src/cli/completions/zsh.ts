// Completions for zsh.

import { type Command, HELP, type Option } from "../command.ts";

/** The script that zsh reads, from a startup file or as `_webfw` in a folder of its functions. */
export function zshCompletions(commands: readonly Command[], options: readonly Option[]): string {
  const names = commands.map(({ name, summary }) => `    ${quote(`${name}:${summary}`)}`);
  return `#compdef webfw wfw
_webfw() {
  local -a commands=(
${names.join("\n")}
  )
  if ((CURRENT == 2)); then
    if [[ $words[2] == -* ]]; then
      _arguments ${options.map(specification).join(" ")}
    else
      _describe command commands
    fi
    return
  fi
  local command=$words[2]
  shift words
  ((CURRENT--))
  case $command in
${commands.map(branch).join("\n")}
  esac
}
if [[ \${funcstack[1]} == _webfw ]]; then
  _webfw "$@"
else
  compdef _webfw webfw wfw
fi`;
}

function branch({ name, operand, options }: Command): string {
  const action = operand.words ? `(${operand.words.join(" ")})` : "_files";
  const specifications = [...options, HELP].map(specification);
  specifications.push(quote(`1:${operand.name.replace(":", "\\:")}:${action}`));
  return `    ${name})\n      _arguments \\\n        ${specifications.join(" \\\n        ")}\n      ;;`;
}

function specification({ name, value, description }: Option): string {
  const text = description.replaceAll(/[[\]:]/g, "\\$&");
  const rest = value === undefined ? "" : `:${value}:${value === "file" ? "_files" : ""}`;
  return quote(`--${name}[${text}]${rest}`);
}

function quote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

/** Completions for shells, from the declarations of the commands. */

import { type Command, CommandError, HELP, type Option, USAGE_EXIT_CODE } from "./command.ts";

type Completions = (commands: readonly Command[], options: readonly Option[]) => string;

const SHELLS: ReadonlyMap<string, Completions> = new Map([
  ["bash", bashCompletions],
  ["zsh", zshCompletions],
  ["fish", fishCompletions],
]);

export function completionsCommand(commands: readonly Command[], options: readonly Option[]): Command {
  return {
    name: "completions",
    summary: "Print completions for a shell",
    operand: { name: "shell", words: [...SHELLS.keys()] },
    options: [],
    takesDenoFlags: false,
    details: `A shell reads them when it starts: add the first line below to ~/.bashrc, or the second one
to ~/.zshrc. For fish, run the third one once.`,
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

/** Without suggestions, bash completes paths. */
function bashCompletions(commands: readonly Command[], options: readonly Option[]): string {
  const words = [...commands.map(({ name }) => name), ...longFlags(options)];
  return `_webfw() {
  local word="\${COMP_WORDS[COMP_CWORD]}" words=""
  if ((COMP_CWORD == 1)); then
    words="${words.join(" ")}"
  else
    case "\${COMP_WORDS[1]}/$word" in
${commands.map(bashCases).join("\n")}
    esac
  fi
  COMPREPLY=($(compgen -W "$words" -- "$word"))
}
complete -o default -F _webfw webfw wfw`;
}

function bashCases({ name, operand, options }: Command): string {
  const lines = [
    `      ${name}/-*) words="${longFlags([...options, HELP]).join(" ")}" ;;`,
  ];
  if (operand.words) lines.push(`      ${name}/*) words="${operand.words.join(" ")}" ;;`);
  return lines.join("\n");
}

function longFlags(options: readonly Option[]): string[] {
  return options.map(({ name }) => `--${name}`);
}

/** From a startup file, or loaded as the function `_webfw`. */
function zshCompletions(commands: readonly Command[], options: readonly Option[]): string {
  const names = commands.map(({ name, summary }) => `    ${zshQuote(`${name}:${summary}`)}`);
  return `#compdef webfw wfw
_webfw() {
  local -a commands=(
${names.join("\n")}
  )
  if ((CURRENT == 2)); then
    if [[ $words[2] == -* ]]; then
      _arguments ${options.map(zshOption).join(" ")}
    else
      _describe command commands
    fi
    return
  fi
  local command=$words[2]
  shift words
  ((CURRENT--))
  case $command in
${commands.map(zshBranch).join("\n")}
  esac
}
if [[ \${funcstack[1]} == _webfw ]]; then
  _webfw "$@"
else
  compdef _webfw webfw wfw
fi`;
}

function zshBranch({ name, operand, options }: Command): string {
  const action = operand.words ? `(${operand.words.join(" ")})` : "_files";
  const words = [...options, HELP].map(zshOption);
  words.push(zshQuote(`1:${operand.name.replace(":", "\\:")}:${action}`));
  return `    ${name})\n      _arguments \\\n        ${words.join(" \\\n        ")}\n      ;;`;
}

function zshOption({ name, value, description }: Option): string {
  const text = description.replaceAll(/[[\]:]/g, "\\$&");
  const rest = value === undefined ? "" : `:${value}:${value === "file" ? "_files" : ""}`;
  return zshQuote(`--${name}[${text}]${rest}`);
}

function zshQuote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

function fishCompletions(commands: readonly Command[], options: readonly Option[]): string {
  const lines = [
    ...commands.map(({ name, summary }) =>
      `complete -c $program -n __fish_use_subcommand -f -a ${name} -d ${fishQuote(summary)}`
    ),
    ...options.map((option) => `complete -c $program -n __fish_use_subcommand ${fishOption(option)}`),
    ...commands.flatMap(fishCommand),
  ];
  return `for program in webfw wfw\n${lines.map((line) => `  ${line}`).join("\n")}\nend`;
}

function fishCommand({ name, operand, options }: Command): string[] {
  const start = `complete -c $program -n '__fish_seen_subcommand_from ${name}'`;
  const lines = [...options, HELP].map((option) => `${start} ${fishOption(option)}`);
  if (operand.words) lines.push(`${start} -f -a ${fishQuote(operand.words.join(" "))}`);
  return lines;
}

function fishOption({ name, letter, value, description }: Option): string {
  const argument = value === undefined ? "" : value === "file" ? " -r -F" : " -x";
  return `-l ${name}${letter ? ` -s ${letter}` : ""}${argument} -d ${fishQuote(description)}`;
}

function fishQuote(text: string): string {
  return `'${text.replaceAll(/['\\]/g, "\\$&")}'`;
}

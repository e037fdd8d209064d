// Completions for fish.

import { type Command, HELP, type Option } from "../command.ts";

/** The script that fish reads. */
export function fishCompletions(commands: readonly Command[], options: readonly Option[]): string {
  const lines = [
    ...commands.map(({ name, summary }) =>
      `complete -c $program -n __fish_use_subcommand -f -a ${name} -d ${quote(summary)}`
    ),
    ...options.map((option) => `complete -c $program -n __fish_use_subcommand ${flag(option)}`),
    ...commands.flatMap(ofCommand),
  ];
  return `for program in webfw wfw\n${lines.map((line) => `  ${line}`).join("\n")}\nend`;
}

function ofCommand({ name, operand, options }: Command): string[] {
  const start = `complete -c $program -n '__fish_seen_subcommand_from ${name}'`;
  const lines = [...options, HELP].map((option) => `${start} ${flag(option)}`);
  if (operand.words) lines.push(`${start} -f -a ${quote(operand.words.join(" "))}`);
  return lines;
}

function flag({ name, letter, value, description }: Option): string {
  const argument = value === undefined ? "" : value === "file" ? " -r -F" : " -x";
  return `-l ${name}${letter ? ` -s ${letter}` : ""}${argument} -d ${quote(description)}`;
}

function quote(text: string): string {
  return `'${text.replaceAll(/['\\]/g, "\\$&")}'`;
}

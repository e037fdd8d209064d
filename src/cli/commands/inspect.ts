/** Prints the routes or a document of an application. */
import { resolve } from "node:path";
import { CONFIG, denoArguments, type Launch, runForOutput, runOnTarget, TARGET, TARGET_DETAILS } from "../launch.ts";
import { type Command, CommandError, type Invocation, USAGE_EXIT_CODE } from "../command.ts";
import { AsyncAPIRunner, OpenAPIRunner, RoutesRunner } from "../runner/inspect.ts";
import type { RunnerOptions } from "../runner/runner.ts";

export const OPENAPI: Command = documentCommand({
  name: "openapi",
  summary: "Write the OpenAPI document of an application, without serving it",
  runner: OpenAPIRunner,
});

export const ASYNCAPI: Command = documentCommand({
  name: "asyncapi",
  summary: "Write the AsyncAPI document of WebSockets, event streams and topics",
  runner: AsyncAPIRunner,
});

interface DocumentParts {
  readonly name: string;
  readonly summary: string;
  readonly runner: Launch<RunnerOptions>["runner"];
}

function documentCommand({ name, summary, runner }: DocumentParts): Command {
  return {
    name,
    summary,
    operand: TARGET,
    options: [
      { name: "output", letter: "o", value: "file", description: "File to write (default: stdout)" },
      { name: "check", description: "Write nothing, and fail if the file differs" },
      CONFIG,
    ],
    takesDenoFlags: true,
    details: TARGET_DETAILS,
    examples: [
      `webfw ${name} main.ts:app -o ${name}.json`,
      `webfw ${name} main.ts:app -o ${name}.json --check`,
    ],
    run: (invocation) => writeDocument(name, invocation, { runner, options: {} }),
  };
}

async function writeDocument(name: string, invocation: Invocation, launch: Launch<RunnerOptions>): Promise<number> {
  const file = invocation.values.get("output");
  const isCheck = invocation.switches.has("check");
  if (isCheck && file === undefined) {
    throw new CommandError(`Option "--check" needs a file: add "--output <file>"`, USAGE_EXIT_CODE);
  }
  if (file === undefined) return await runOnTarget(invocation, launch);
  const { code, output } = await runForOutput(await denoArguments(invocation, launch));
  if (code !== 0) return code;
  if (isCheck) await compare(output, file, `webfw ${name} ${invocation.operand} -o ${file}`, invocation.operand);
  else await write(output, file);
  return 0;
}

async function write(output: Uint8Array, file: string): Promise<void> {
  try {
    await Deno.writeFile(resolve(file), output);
  } catch (error) {
    throw new CommandError(`Cannot write "${file}": ${reasonOf(error)}`);
  }
}

/** @param cure The command that writes the file. */
async function compare(output: Uint8Array, file: string, cure: string, operand: string): Promise<void> {
  let existing: string;
  try {
    existing = await Deno.readTextFile(resolve(file));
  } catch (error) {
    throw new CommandError(`Cannot read "${file}": ${reasonOf(error)}`);
  }
  // On Windows, git may have changed the line endings.
  const old = existing.replaceAll("\r\n", "\n").split("\n");
  const document = new TextDecoder().decode(output).split("\n");
  const index = document.findIndex((line, index) => line !== old[index]);
  if (index < 0 && old.length === document.length) return;
  const line = index < 0 ? document.length + 1 : index + 1;
  throw new CommandError(
    `The file "${file}" differs from the document of "${operand}" from line ${line} on: run "${cure}"`,
  );
}

function reasonOf(error: unknown): string {
  if (error instanceof Deno.errors.NotFound) return "no such file or directory";
  return error instanceof Error ? error.message : String(error);
}

export const ROUTES: Command = {
  name: "routes",
  summary: "List the routes of an application, without serving it",
  operand: TARGET,
  options: [CONFIG],
  takesDenoFlags: true,
  details: TARGET_DETAILS,
  examples: [
    "webfw routes main.ts:app",
    "webfw routes main.ts:app -- --env-file",
  ],
  run: (invocation) => runOnTarget(invocation, { runner: RoutesRunner, options: {} }),
};

// Checks the tools of an application against their descriptions.

import { Agent, type CallResult, type ListedTool } from "../../agents/agent.ts";
import type { JsonSchema } from "../../../src/schema/json_schema.ts";
import { Random } from "../../unit/support/random.ts";
import { Changes, edgesOf, SECRET } from "./changes.ts";
import { verdictWithout } from "./dropped_keys.ts";
import { withoutPart } from "./parts.ts";
import { Schemas } from "./schemas.ts";
import { shortened } from "./sent.ts";
import { Findings, type Subject } from "./subject.ts";
import { Values } from "./values.ts";

type Arguments = Readonly<Record<string, unknown>>;

/** An application with tools. */
export interface ToolSubject extends Pick<Subject, "fetch" | "tokens" | "failing"> {
  /**
   * Arguments that tools refuse for reasons that JSON Schema cannot express: by tool, the arguments
   * with the reasons.
   */
  readonly choosy?: Readonly<Record<string, Readonly<Record<string, string>>>>;
  /** The list of tools; by default, the agent asks for it. */
  readonly tools?: readonly ListedTool[];
}

/**
 * Checks the tools of an application against their descriptions.
 *
 * @param subject The application.
 * @param seed The seed of all calls.
 * @param rounds The number of calls of each tool with valid arguments. Other calls differ from them
 * in one thing.
 */
export async function findToolFaults(subject: ToolSubject, seed: number, rounds: number): Promise<Findings> {
  const findings = new Findings(seed);
  const random = new Random(seed);
  const tools = subject.tools ?? await new Agent(subject).list();
  const checks = tools.map((tool) => new ToolCheck(tool, subject, random, findings));
  for (let round = 0; round < rounds; round++) {
    for (const check of checks) await check.round();
  }
  return findings;
}

class ToolCheck {
  readonly #tool: ListedTool;
  readonly #subject: ToolSubject;
  readonly #random: Random;
  readonly #findings: Findings;
  readonly #input: Schemas;
  readonly #output: Schemas | undefined;
  readonly #values: Values;
  readonly #changes: Changes;

  constructor(tool: ListedTool, subject: ToolSubject, random: Random, findings: Findings) {
    this.#tool = tool;
    this.#subject = subject;
    this.#random = random;
    this.#findings = findings;
    this.#input = new Schemas(tool.inputSchema);
    this.#output = tool.outputSchema && new Schemas(tool.outputSchema);
    this.#values = new Values(this.#input, random);
    this.#changes = new Changes(edgesOf(this.#schema, this.#input), random);
  }

  get #schema(): JsonSchema {
    return this.#input.document as JsonSchema;
  }

  /** Calls the tool with valid arguments, and with others that differ from them in one thing. */
  async round(): Promise<void> {
    const args = this.#values.valid(this.#schema) as Arguments;
    await this.#try(args, []);
    for (const name of Object.keys(args)) await this.#try(withoutPart(args, [name]) as Arguments, [name]);
    for (let turn = 0; turn < 3; turn++) {
      const { value, place } = this.#changes.of(args);
      // Anything but an object is no call.
      if (typeof value === "object" && value !== null && !Array.isArray(value)) {
        await this.#try(value as Arguments, place.map(String));
      }
    }
  }

  async #try(args: Arguments, place: readonly string[]): Promise<void> {
    const verdict = verdictWithout(withoutNull(args, this.#input, this.#schema), this.#schema, this.#input);
    this.#findings.sent[verdict]++;
    const result = await this.#call(args);
    const told = result.content.map(({ text }) => text ?? "").join("\n");
    const faults = verdict === "invalid"
      ? faultsOfRefusal(result, told, place)
      : this.#faultsOfResult(result, told, verdict);
    for (const fault of faults) {
      this.#findings.add(this.#tool.name, fault, `${shortened(JSON.stringify(args))}\n  ${shortened(told)}`);
    }
  }

  async #call(args: Arguments): Promise<CallResult> {
    const { tokens = [] } = this.#subject;
    const headers = tokens.length > 0 ? { authorization: `Bearer ${this.#random.pick(tokens)}` } : {};
    return await new Agent(this.#subject, undefined, headers).call(this.#tool.name, args);
  }

  #faultsOfResult({ isError, structuredContent }: CallResult, told: string, verdict: "valid" | "open"): string[] {
    if (isError) {
      const status = Number(told.slice(0, 3));
      if (status >= 500) return this.#isFailing ? [] : [`it failed with ${status}`];
      const isRefusal = verdict === "valid" && [400, 413, 415, 422].includes(status) && !this.#isChoice(told);
      return isRefusal ? ["valid arguments are refused"] : [];
    }
    if (!this.#output) return [];
    const isFit = this.#output.verdict(this.#output.document as JsonSchema, structuredContent) !== "invalid";
    return isFit ? [] : [`the result is not as described: ${shortened(JSON.stringify(structuredContent))}`];
  }

  get #isFailing(): boolean {
    return this.#subject.failing?.includes(this.#tool.name) ?? false;
  }

  #isChoice(told: string): boolean {
    const choosy = Object.keys(this.#subject.choosy?.[this.#tool.name] ?? {});
    const [, ...issues] = told.split("\n");
    return issues.length > 0 && issues.every((issue) => choosy.some((place) => issue.startsWith(`- ${place}`)));
  }
}

/** The faults in the result of a call with invalid arguments. */
function faultsOfRefusal({ isError }: CallResult, told: string, [name]: readonly string[]): string[] {
  if (!isError) return ["invalid arguments are taken"];
  const faults: string[] = [];
  if (!told.startsWith("422")) faults.push(`invalid arguments got ${told.slice(0, 3)} instead of 422`);
  if (told.includes(SECRET)) faults.push("the refusal repeats what was sent");
  if (name !== undefined && !told.includes(`\n- ${name}`)) faults.push(`the refusal does not tell of ${name}`);
  return faults;
}

/**
 * Many agents send null for missing values. It counts as missing if the schema does not take null.
 */
function withoutNull(args: Arguments, schemas: Schemas, { properties = {} }: JsonSchema): Arguments {
  const isMeant = (name: string) =>
    !Object.hasOwn(properties, name) || schemas.verdict(properties[name]!, null) === "valid";
  return Object.fromEntries(Object.entries(args).filter(([name, value]) => value !== null || isMeant(name)));
}

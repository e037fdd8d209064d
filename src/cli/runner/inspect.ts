/** Prints the declarations of an application, without serving it. Sent as source: see runner.ts. */

import { type RouteAccess, Runner, type RunnerOptions, type WebfwApp } from "./runner.ts";

/** Prints to stdout, and ends the process. */
export abstract class InspectRunner<Options extends RunnerOptions = RunnerOptions> extends Runner<Options> {
  protected abstract readonly task: string;

  protected abstract print(app: WebfwApp): Promise<void>;

  async run(): Promise<void> {
    const problem = `Cannot ${this.task} "${this.options.module}"`;
    this.stopWithParent();
    this.keepStdout();
    const app = await this.loadApp();
    if (!this.isWebfwApp(app)) return await this.fail(`${problem}: it is no App`);
    try {
      await this.print(app);
    } catch (error) {
      // The reader of the output, such as "head", has ended.
      if (error instanceof Deno.errors.BrokenPipe) Deno.exit(0);
      await this.failWith(problem, error);
    }
    Deno.exit(0);
  }

  /** Longer cells than `widest` do not widen their column. */
  protected writeTable(rows: readonly (readonly string[])[], widest = Infinity): void {
    const widths = rows[0]!.map((_, column) =>
      Math.max(...rows.map((row) => row[column]!.length).filter((length) => length <= widest))
    );
    const lines = rows.map((row) => row.map((cell, column) => cell.padEnd(widths[column]!)).join("  ").trimEnd());
    this.write(`${lines.join("\n")}\n`);
  }
}

export class RoutesRunner extends InspectRunner {
  protected override readonly task = "list the routes of";

  protected override async print(app: WebfwApp): Promise<void> {
    const rows = [["METHOD", "PATH", "OPERATION"]];
    for (const { method, path, operationId } of app.routes) rows.push([method, path, operationId ?? ""]);
    const access = this.protocolOf(app).access?.();
    if (access) {
      const cells = access.map(({ guards, limits }) => [guards.join(", "), limits.map(this.#describe).join(", ")]);
      for (const [index, more] of [["GUARDS", "LIMITS"], ...cells].entries()) rows[index]!.push(...more);
    }
    this.writeTable(rows);
  }

  /** Such as `10/1m`. */
  readonly #describe = ({ limit, per }: RouteAccess["limits"][number]): string => {
    const units = [["d", 86_400_000], ["h", 3_600_000], ["m", 60_000], ["s", 1_000]] as const;
    const [unit, size] = units.find(([, size]) => per % size === 0) ?? ["ms", 1];
    return `${limit}/${per / size}${unit}`;
  };
}

export class OpenAPIRunner extends InspectRunner {
  protected override readonly task = "describe";

  protected override async print(app: WebfwApp): Promise<void> {
    this.write(`${JSON.stringify(app.openapi(), null, 2)}\n`);
  }
}

export class AsyncAPIRunner extends InspectRunner {
  protected override readonly task = "describe";

  protected override async print(app: WebfwApp): Promise<void> {
    const { asyncapi } = this.protocolOf(app);
    if (asyncapi === undefined) {
      return await this.fail(`Cannot describe "${this.options.module}": its webfw has no AsyncAPI document, update it`);
    }
    this.write(`${JSON.stringify(await asyncapi(), null, 2)}\n`);
  }
}

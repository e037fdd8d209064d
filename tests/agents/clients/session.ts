// A client of any revision: lists the tools, calls them, and prints the results as JSON.

/** A call to make. */
export interface Call {
  name: string;
  arguments: Record<string, unknown>;
}

/** The methods of a client. */
export interface Connection {
  /** The revision that was agreed on. */
  readonly version: string | undefined;
  listTools(): Promise<{ tools: unknown[] }>;
  callTool(call: Call): Promise<unknown>;
  close(): Promise<void>;
}

/** Makes all calls. They are a JSON list in the last argument of the program. */
export async function converse({ version, listTools, callTool, close }: Connection): Promise<void> {
  const calls: Call[] = JSON.parse(Deno.args.at(-1) ?? "[]");
  const { tools } = await listTools();
  const results: unknown[] = [];
  for (const call of calls) {
    // If the client itself refuses a call, the refusal counts as its result.
    results.push(await callTool(call).catch((error) => ({ refused: String(error) })));
  }
  await close();
  console.log(JSON.stringify({ version, tools, results }));
}

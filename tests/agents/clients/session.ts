// What a client does, whichever generation it is of: lists the tools and calls them, and prints what it saw as JSON.

/** A call to make. */
export interface Call {
  name: string;
  arguments: Record<string, unknown>;
}

/** What a client offers. */
export interface Connection {
  /** The revision that was agreed on. */
  readonly version: string | undefined;
  listTools(): Promise<{ tools: unknown[] }>;
  callTool(call: Call): Promise<unknown>;
  close(): Promise<void>;
}

/** Makes all calls, which stand as a JSON list in the last argument of the program. */
export async function converse({ version, listTools, callTool, close }: Connection): Promise<void> {
  const calls: Call[] = JSON.parse(Deno.args.at(-1) ?? "[]");
  const { tools } = await listTools();
  const results: unknown[] = [];
  for (const call of calls) {
    // What a client itself refuses is seen like a result: it must be told which call it was.
    results.push(await callTool(call).catch((error) => ({ refused: String(error) })));
  }
  await close();
  console.log(JSON.stringify({ version, tools, results }));
}

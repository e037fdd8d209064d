// Types for the argument parser of npm's deno-std.

import * as std from "deno-std/cli/parse_args.js";

interface ParseOptions<B extends string, S extends string, C extends string> {
  boolean?: readonly B[];
  string?: readonly S[];
  collect?: readonly C[];
  negatable?: readonly string[];
  alias?: Record<string, string | readonly string[]>;
  default?: Record<string, unknown>;
  stopEarly?: boolean;
  "--"?: boolean;
  unknown?: (arg: string, key?: string, value?: unknown) => unknown;
}

type Flags<B extends string, S extends string, C extends string> =
  & { _: (string | number)[] }
  & { [K in B]: boolean }
  & { [K in S]: K extends C ? string[] : string | undefined };

export const parseArgs: <
  const B extends string = never,
  const S extends string = never,
  const C extends string = never,
>(args: readonly string[], options?: ParseOptions<B, S, C>) => Flags<B, S, C> = std.parseArgs;

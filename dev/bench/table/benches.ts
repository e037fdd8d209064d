// The measurements for the table, in short forms whose figures are still useful.

/** One measurement. */
export interface Bench {
  /** Its name: `deno task bench http`. */
  name: string;
  /** The title of its part of the table. */
  title: string;
  /** Its program, from the folder of all measurements. */
  program: string;
  /** Arguments for a short measurement. */
  args: string[];
  /** Arguments for the shortest measurement. */
  quick: string[];
  /** Whether it needs denokv, which not every machine has. */
  needsDenokv?: boolean;
}

/** All of them, in the order of the table. */
export const BENCHES: Bench[] = [
  {
    name: "http",
    title: "Requests",
    program: "http/main.ts",
    args: ["--rounds", "5", "--duration", "500ms"],
    quick: ["--quick"],
  },
  {
    name: "guards",
    title: "Guards",
    program: "guards/main.ts",
    args: ["--rounds", "5", "--duration", "500ms"],
    quick: ["--quick"],
  },
  {
    name: "board",
    title: "The board",
    program: "board/main.ts",
    args: ["--rounds", "5", "--duration", "500ms"],
    quick: ["--quick"],
  },
  { name: "start", title: "Start", program: "start/main.ts", args: ["--rounds", "15"], quick: ["--quick"] },
  { name: "types", title: "Types", program: "types/main.ts", args: ["--rounds", "1"], quick: ["--rounds", "1"] },
  {
    name: "document",
    title: "OpenAPI document",
    program: "document/main.ts",
    args: ["--rounds", "3"],
    quick: ["--rounds", "1"],
  },
  {
    name: "topics",
    title: "Topics in memory",
    program: "topics/main.ts",
    args: ["--rounds", "5", "--messages", "500"],
    quick: ["--quick"],
  },
  {
    name: "durable",
    title: "Durable topics",
    program: "durable_topics/main.ts",
    args: ["--rounds", "3", "--messages", "100"],
    quick: ["--quick"],
    needsDenokv: true,
  },
  {
    name: "sql",
    title: "Topics in SQL",
    program: "sql/main.ts",
    args: ["--rounds", "3", "--messages", "100"],
    quick: ["--quick"],
  },
  {
    name: "many",
    title: "Many durable topics",
    program: "many_topics/main.ts",
    args: ["--nodes", "4", "--topics", "250", "--idle", "3000"],
    quick: ["--quick"],
    needsDenokv: true,
  },
  {
    name: "consumers",
    title: "Consumers",
    program: "consumers/main.ts",
    args: ["--rounds", "3", "--messages", "5000", "--single", "50"],
    quick: ["--quick"],
  },
  {
    name: "sse",
    title: "Server-sent events",
    program: "sse/main.ts",
    args: ["--processes", "3", "--rounds", "8", "--idle", "1000", "--stalled", "20000"],
    quick: ["--quick"],
  },
  {
    name: "sockets",
    title: "WebSockets",
    program: "sockets/main.ts",
    args: ["--rounds", "3", "--events", "20000", "--sockets", "500"],
    quick: ["--quick"],
  },
  { name: "client", title: "Client", program: "client/main.ts", args: ["--rounds", "5"], quick: ["--quick"] },
  { name: "uploads", title: "Uploads", program: "uploads/main.ts", args: ["--size", "256"], quick: ["--size", "64"] },
];

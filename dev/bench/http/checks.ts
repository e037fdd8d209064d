// Proves that a server does the work of a workload before it is measured.

import type { ExpectedReply, Work, WorkloadRequest } from "./workloads.ts";

/** Reply headers that every server may have. */
const UNREMARKABLE = new Set([
  "content-length",
  "content-type",
  "date",
  "vary",
]);

/**
 * Sends every request to a server.
 *
 * @returns One line for each fault of the server.
 */
export async function check(work: Work, port: number): Promise<string[]> {
  const faults: string[] = [];
  for (const { request, reply } of [work.measured, ...work.accepted]) {
    const fault = difference(await observe(request, port), reply);
    if (fault) faults.push(`${describe(request)}: ${fault}`);
  }
  for (const request of work.refused) {
    const { status } = await observe(request, port);
    if (status >= 400 && status <= 499) continue;
    faults.push(`${describe(request)}: status ${status} instead of 4xx`);
  }
  return faults;
}

/** The headers that a server adds to the measured reply without being asked. */
export async function remarkableHeaders(
  { measured: { request, reply } }: Work,
  port: number,
): Promise<string[]> {
  const { headers } = await observe(request, port);
  const known = reply.headers ?? {};
  return [...headers.keys()].filter((name) => !UNREMARKABLE.has(name) && !(name in known));
}

interface ObservedReply {
  status: number;
  headers: Headers;
  body: string;
}

async function observe(
  { method, target, headers, body }: WorkloadRequest,
  port: number,
): Promise<ObservedReply> {
  const response = await fetch(`http://127.0.0.1:${port}${target}`, {
    method,
    redirect: "manual",
    ...(headers && { headers }),
    ...(body !== undefined && { body }),
  });
  const { status } = response;
  return { status, headers: response.headers, body: await response.text() };
}

function difference(
  observed: ObservedReply,
  expected: ExpectedReply,
): string | undefined {
  if (observed.status !== expected.status) {
    return `status ${observed.status} instead of ${expected.status}`;
  }
  const type = observed.headers.get("content-type")?.split(";")[0];
  if (type !== expected.type) return `type ${type} instead of ${expected.type}`;
  if (observed.body !== expected.body) {
    return `body ${observed.body} instead of ${expected.body}`;
  }
  for (const [name, value] of Object.entries(expected.headers ?? {})) {
    const found = observed.headers.get(name);
    const fits = value instanceof RegExp ? found !== null && value.test(found) : found === value;
    if (!fits) return `${name} ${found} instead of ${value}`;
  }
  return undefined;
}

function describe({ method, target, headers, body }: WorkloadRequest): string {
  const type = headers?.["content-type"];
  return [method, target, type, body?.slice(0, 80)]
    .filter((part) => part !== undefined).join(" ");
}

// What guards a request: the workload that it is measured with, the headers that the requests
// carry, the replies, and the requests that are refused.

import { exportJWK, generateKeyPair, SignJWT } from "jose";
import { type ExpectedReply, type Work, type Workload, type WorkloadRequest, WORKLOADS } from "../http/workloads.ts";
import { AUDIENCE, COOKIE, ISSUER, MAX_REQUESTS, ORIGIN, TOKEN } from "./credentials.ts";

/** Something that an application has, or has not. */
export interface Feature {
  name: string;
  /** What the servers look it up by. */
  guard: string;
  /** A title for the report. */
  title: string;
  /** What the servers need to know. */
  argument: string;
  /** What a server has to answer that has the feature, or has not, when it listens on a port. */
  workAt(port: number, isWith: boolean): Promise<Work>;
}

type SentHeaders = Record<string, string>;
type ReplyHeaders = NonNullable<ExpectedReply["headers"]>;

/** How the work of a feature differs from that of a workload. */
interface Difference {
  /** Headers of all requests, also of those to the server without the feature. */
  sent?: SentHeaders;
  /** Headers of replies with the feature. */
  replied?: ReplyHeaders;
  /** Headers with which a request is refused. */
  refused?: SentHeaders[];
  /** Headers with which a request is accepted, and those of the reply. */
  accepted?: { sent: SentHeaders; replied: ReplyHeaders }[];
}

const CORS: Difference = {
  sent: { origin: ORIGIN },
  replied: { "access-control-allow-origin": ORIGIN, vary: "Origin" },
  accepted: [{
    sent: { origin: "https://other.example" },
    replied: { "access-control-allow-origin": null, vary: "Origin" },
  }],
};
const LIMIT: Difference = {
  replied: { "ratelimit-policy": `"1";q=${MAX_REQUESTS};w=60`, ratelimit: /^"1";r=\d+;t=\d+$/ },
};
const REQUEST_ID: Difference = { replied: { "x-request-id": /^[\da-f-]{36}$/ } };
const BEARER: Difference = {
  sent: { authorization: `Bearer ${TOKEN}` },
  refused: [{}, { authorization: "Bearer other" }, { authorization: TOKEN }],
};
const CROSS_ORIGIN: Difference = {
  accepted: [{ sent: { "sec-fetch-site": "same-origin", origin: ORIGIN }, replied: {} }],
  refused: [{ "sec-fetch-site": "cross-site", origin: ORIGIN }, { origin: ORIGIN }],
};

/** All features, in the order in which they are measured. */
export async function makeFeatures(): Promise<Feature[]> {
  const { publicKey, privateKey } = await generateKeyPair("ES256");
  const sign = (issuer: string) =>
    new SignJWT({ sub: "42", scope: "users:read" }).setProtectedHeader({ alg: "ES256" })
      .setIssuer(issuer).setAudience(AUDIENCE).setIssuedAt().setExpirationTime("1d").sign(privateKey);
  const jwt: Difference = {
    sent: { authorization: `Bearer ${await sign(ISSUER)}` },
    refused: [{}, { authorization: `Bearer ${await sign("https://other.example")}` }],
  };
  const key = JSON.stringify(await exportJWK(publicKey));
  return [
    feature("origins", "origins", "param", CORS),
    feature("origins-list", "origins", "list", CORS),
    feature("limit", "a limit by address", "param", LIMIT),
    feature("limit-list", "a limit by address", "list", LIMIT),
    feature("id", "request ids", "param", REQUEST_ID),
    feature("id-list", "request ids", "list", REQUEST_ID),
    feature("bearer", "a bearer guard on a scope", "param", BEARER),
    session("sealed", "a sealed session", 300),
    session("memory", "a session in memory", 43),
    { ...feature("jwt", "a jwt guard, ES256", "param", jwt), argument: key },
    feature("cross-origin", "the check for pages of other origins", "body", CROSS_ORIGIN),
  ];
}

function feature(name: string, title: string, workloadName: string, difference: Difference): Feature {
  const workload = WORKLOADS.find(({ name }) => name === workloadName)!;
  return {
    name,
    guard: name.replace("-list", ""),
    title: `${title}: ${workload.title}`,
    argument: "",
    workAt: async (_port, isWith) => workOf(workload, difference, isWith),
  };
}

/**
 * A session, which a client begins at the server.
 *
 * @param size The characters of the cookie that a server without sessions gets.
 */
function session(name: string, title: string, size: number): Feature {
  const stranger = { cookie: `${COOKIE}=${"x".repeat(size)}` };
  return {
    ...feature(name, title, "param", {}),
    workAt: async (port, isWith) => {
      const sent = isWith ? { cookie: await signIn(port) } : stranger;
      return workOf(WORKLOADS.find(({ name }) => name === "param")!, { sent, refused: [{}, stranger] }, isWith);
    },
  };
}

async function signIn(port: number): Promise<string> {
  const response = await fetch(`http://127.0.0.1:${port}/login`, { method: "POST" });
  await response.body?.cancel();
  const [cookie = ""] = (response.headers.get("set-cookie") ?? "").split(";", 1);
  if (cookie.startsWith(`${COOKIE}=`)) return cookie;
  throw new Error(`Cannot sign in: status ${response.status}, and no session`);
}

function workOf({ measured, accepted, refused }: Workload, difference: Difference, isWith: boolean): Work {
  const { sent = {} } = difference;
  const changed = (request: WorkloadRequest, headers: SentHeaders = sent): WorkloadRequest => ({
    ...request,
    headers: { ...request.headers, ...headers },
  });
  const replying = (reply: ExpectedReply, headers: ReplyHeaders = {}): ExpectedReply => ({
    ...reply,
    headers: { ...reply.headers, ...headers },
  });
  const ownReply = isWith ? difference.replied : {};
  return {
    measured: { request: changed(measured.request), reply: replying(measured.reply, ownReply) },
    accepted: [
      ...accepted.map(({ request, reply }) => ({ request: changed(request), reply: replying(reply, ownReply) })),
      ...(isWith ? difference.accepted ?? [] : []).map(({ sent, replied }) => ({
        request: changed(measured.request, sent),
        reply: replying(measured.reply, replied),
      })),
    ],
    refused: [
      ...refused.map((request) => changed(request)),
      ...(isWith ? difference.refused ?? [] : []).map((headers) => changed(measured.request, headers)),
    ],
  };
}

// Compares all operations of an application with its document.

import { Random } from "../../unit/support/random.ts";
import { Exchange } from "./exchange.ts";
import { type Bench, OperationCheck } from "./operation_check.ts";
import { operationsOf } from "./operations.ts";
import { checkMethods, checkUnknownPaths } from "./path_check.ts";
import { Paths } from "./paths.ts";
import { Schemas } from "./schemas.ts";
import { Findings, type Subject } from "./subject.ts";
import { ValidRequests } from "./valid_requests.ts";
import { Values } from "./values.ts";

/**
 * Checks an application against its document.
 *
 * @param subject The application.
 * @param seed The seed of all requests.
 * @param rounds The number of valid requests for each operation. Other requests differ from them in
 * one thing.
 */
export async function findFaults(subject: Subject, seed: number, rounds: number): Promise<Findings> {
  const { tokens = ["token"], isPure = false } = subject;
  const findings = new Findings(seed);
  const random = new Random(seed);
  const schemas = new Schemas(subject.document);
  const operations = operationsOf(schemas);
  const exchange = new Exchange(subject, schemas, random, findings);
  const values = new Values(schemas, random, (name) => exchange.known(name));
  const bench: Bench = { schemas, paths: new Paths(operations), random, exchange, isPure };
  const requests = [...operations.values()].flat().map((operation) =>
    new ValidRequests(operation, schemas, values, random, tokens)
  );
  const checks = requests.map((valid) => new OperationCheck(valid, bench));
  // The operations take turns, so that the result of one can be sent to another.
  for (let round = 0; round < rounds; round++) {
    for (const check of checks) await check.round();
  }
  for (const check of checks) await check.tryTrickyBodies();
  for (const valid of requests) await checkMethods(valid.make(undefined), bench);
  await checkUnknownPaths(bench);
  return findings;
}

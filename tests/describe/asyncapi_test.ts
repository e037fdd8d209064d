// The reference parser of AsyncAPI reads the documents of `webfw asyncapi`, and resolves their
// references.

import { assert, assertEquals } from "@std/assert";
import type { App } from "@webfw/core";
import type { AsyncAPIDocument } from "../../src/describe/asyncapi/document.ts";
import { TemporaryFolder } from "../spec/support/temporary_folder.ts";
import {
  asyncapiOf,
  chatApp,
  collidingApp,
  eventsApp,
  guardedApp,
  hiddenApp,
  locatedApp,
  topicsApp,
} from "../support/asyncapi_apps.ts";
import { consume, hasConsumers } from "./consumers.ts";

const ignore = !await hasConsumers();

const APPS: readonly (() => App)[] = [chatApp, collidingApp, eventsApp, guardedApp, hiddenApp, locatedApp, topicsApp];

/** The errors and warnings for each document. */
async function complaints(documents: readonly AsyncAPIDocument[]): Promise<string[][]> {
  await using folder = await TemporaryFolder.make();
  const files = documents.map((document, index) => folder.write(`${index}.json`, JSON.stringify(document)));
  return JSON.parse(await consume("asyncapi.ts", await Promise.all(files), folder.path));
}

Deno.test("The parser of AsyncAPI has neither errors nor warnings", { ignore }, async () => {
  const found = await complaints(await Promise.all(APPS.map((make) => asyncapiOf(make()))));
  assertEquals(Object.fromEntries(found.map((each, index) => [APPS[index]!.name, each])), {
    chatApp: [],
    collidingApp: [],
    eventsApp: [],
    guardedApp: [],
    hiddenApp: [],
    locatedApp: [],
    topicsApp: [],
  });
});

Deno.test(
  "It is awake: it finds a reference to nothing, and a parameter that is not in the address",
  { ignore },
  async () => {
    const one = await asyncapiOf(chatApp());
    one.channels.talk!.address = "/elsewhere";
    const other = await asyncapiOf(chatApp());
    other.operations.talkSend!.messages[0]!.$ref = "#/channels/talk/messages/other";
    for (const faults of await complaints([one, other])) assert(faults.length > 0);
  },
);

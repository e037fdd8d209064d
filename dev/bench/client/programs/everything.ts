// A page that uses every export of the client.

import { client, ProblemError } from "../../../../src/client/mod.ts";

Object.assign(globalThis, { client, ProblemError });

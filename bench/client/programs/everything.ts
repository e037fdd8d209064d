// A page that uses every export of the client.

import { client, ProblemError } from "../../../client.ts";

Object.assign(globalThis, { client, ProblemError });

// A page that uses every export of the client.

import * as everything from "../../../client.ts";

Object.assign(globalThis, everything);

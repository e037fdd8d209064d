// A page that only calls routes. What it does not use is not loaded with it.

import { client } from "../../../../src/client/mod.ts";

Object.assign(globalThis, { shop: client("/v1") });

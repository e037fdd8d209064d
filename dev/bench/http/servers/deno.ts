// The workloads by hand on Deno.serve, the reference of all ratios. The handler is async, as in
// webfw.

import { answer } from "./by_hand.ts";
import { isSync, listen } from "./listen.ts";

listen(isSync ? answer : async (request) => answer(request));

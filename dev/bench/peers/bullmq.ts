// A queue of BullMQ in the Redis at the port that the argument names. Runs on Deno and, bundled, on
// Node.js.

import process from "node:process";
import { Queue, Worker } from "bullmq";
import { IN_FLIGHT, serve } from "../consumers/work.ts";

const [port] = process.argv.slice(2);
const connection = { host: "127.0.0.1", port: Number(port), maxRetriesPerRequest: null };

serve(async (name, handle) => {
  const queue = new Queue(name, { connection });
  await queue.waitUntilReady();
  const worker = new Worker(name, async () => handle(), { connection, concurrency: IN_FLIGHT, autorun: false });
  await worker.waitUntilReady();
  return {
    publish: (data) => queue.add("bench", data),
    consume: async () => {
      worker.run();
    },
    close: async () => {
      await worker.close();
      await queue.obliterate({ force: true });
      await queue.close();
    },
  };
});

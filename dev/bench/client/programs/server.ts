// A server for the comparison of clients. It prints its port.

const book = JSON.stringify({ id: 1, title: "Middlemarch", tags: ["novel", "1871"] });
const headers = { "content-type": "application/json" };

Deno.serve({ port: 0, hostname: "127.0.0.1", onListen: ({ port }) => console.log(port) }, async (request) => {
  if (request.method === "POST") await request.text();
  return new Response(book, { headers });
});

/** Free ports for programs that need the number in advance. */

/** Systems take the ports of outgoing connections from here on, at any moment. */
const FIRST_OUTGOING = 32_768;
/** Services of the system are below. */
const FIRST = 10_000;

/** Ports that are free now. A program that cannot report its port binds each of them soon. */
export function freePorts(count: number): number[] {
  const listeners = Array.from({ length: count }, listen);
  const ports = listeners.map(({ addr }) => addr.port);
  for (const listener of listeners) listener.close();
  return ports;
}

function listen(): Deno.TcpListener {
  for (;;) {
    const port = FIRST + Math.floor(Math.random() * (FIRST_OUTGOING - FIRST));
    try {
      return Deno.listen({ hostname: "127.0.0.1", port });
    } catch (error) {
      if (!(error instanceof Deno.errors.AddrInUse)) throw error;
    }
  }
}

// The page: server-sent events of one node, and of another one when that does not answer. All nodes give the same orders in the
// same order under the same ids, so that any of them goes on where another one has stopped.

const $ = (id) => document.getElementById(id);

/** How long to wait before the next node is tried, in milliseconds. */
const PAUSE = 300;

const nodes = await (await fetch("/nodes")).json();
/** The one that is connected, or tried: first the one that has sent the page. */
let node = nodes.find(({ url }) => url === location.origin) ?? nodes[0];
/** The id of the newest order that is shown, or of the gap after it. */
let last;

function connect() {
  const url = new URL("/orders/events", node.url);
  if (last) url.searchParams.set("lastEventId", last);
  const events = new EventSource(url);
  events.onopen = () => show(`Connected to node ${node.name}`, true);
  events.onmessage = ({ data, lastEventId }) => {
    last = lastEventId;
    add(JSON.parse(data));
  };
  events.addEventListener("webfw.gap", ({ data, lastEventId }) => {
    last = lastEventId;
    // What comes now is all that the store has: after its loss, or a backup, also what is shown already.
    if (["epoch", "ahead"].includes(JSON.parse(data).reason)) clear();
    addRow(["Some orders are no longer kept", "", ""]);
  });
  events.onerror = () => {
    // It would try the same node again, for ever.
    events.close();
    const lost = node;
    node = nextNode();
    show(`Lost node ${lost.name}, trying node ${node.name}`, false);
    setTimeout(connect, PAUSE);
  };
}

function nextNode() {
  const index = nodes.findIndex(({ url }) => url === node.url);
  return nodes[(index + 1) % nodes.length];
}

function show(state, isConnected) {
  $("state").textContent = state;
  $("state").toggleAttribute("data-connected", isConnected);
}

function add({ item, quantity, node }) {
  addRow([item, quantity, node]);
  $("count").textContent = Number($("count").textContent) + 1;
}

function clear() {
  $("orders").replaceChildren();
  $("count").textContent = 0;
}

function addRow(cells) {
  const row = document.createElement("tr");
  for (const text of cells) row.insertCell().textContent = text;
  $("orders").prepend(row);
}

/** Sends an order until a node has answered. It keeps its id, so that it is taken once however often it is sent. */
async function send(order) {
  for (;;) {
    try {
      const headers = { "content-type": "application/json" };
      const response = await fetch(new URL("/orders", node.url), {
        method: "POST",
        headers,
        body: JSON.stringify(order),
      });
      if (response.status < 500) return response;
    } catch {
      // Not reached, or lost on the way: the stream of events finds another node.
    }
    await new Promise((resolve) => setTimeout(resolve, PAUSE));
  }
}

$("ordering").onsubmit = async (event) => {
  event.preventDefault();
  const { item, quantity } = Object.fromEntries(new FormData(event.target));
  $("receipt").textContent = "Sending";
  const response = await send({ id: crypto.randomUUID(), item, quantity: Number(quantity) });
  $("receipt").textContent = response.ok ? "Taken" : (await response.json()).detail;
};

connect();

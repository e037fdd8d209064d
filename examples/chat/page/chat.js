// The page: a WebSocket for the room one is in, server-sent events for what goes on in all of them, and a form for pictures.

const $ = (id) => document.getElementById(id);

let socket;
let room;
let name;
/** The id of the newest message that is shown: a lost connection goes on after it. */
let last;

function show(state) {
  $("state").textContent = state;
}

function connect() {
  const url = new URL(`/rooms/${encodeURIComponent(room)}/socket`, location.href.replace(/^http/, "ws"));
  url.searchParams.set("name", name);
  if (last) url.searchParams.set("after", last);
  const opened = new WebSocket(url);
  socket = opened;
  opened.onopen = () => show(`In ${room} as ${name}`);
  opened.onmessage = ({ data }) => add(JSON.parse(data));
  opened.onclose = () => {
    // Another room was entered meanwhile.
    if (socket !== opened) return;
    show("Connection lost, trying again");
    setTimeout(() => socket === opened && connect(), 1000);
  };
}

function add(message) {
  const item = document.createElement("li");
  if (message.missed) {
    item.textContent = "Older messages are no longer there";
  } else {
    last = message.id;
    const author = document.createElement("b");
    author.textContent = message.name;
    item.append(author, " ");
    item.append(message.picture ? picture(message) : message.text);
  }
  $("messages").append(item);
  item.scrollIntoView({ block: "nearest" });
}

function picture({ picture, name }) {
  const image = document.createElement("img");
  image.src = picture;
  image.alt = `Picture by ${name}`;
  return image;
}

$("entrance").onsubmit = (event) => {
  event.preventDefault();
  const entered = new FormData(event.target);
  const left = socket;
  socket = undefined;
  left?.close();
  $("messages").replaceChildren();
  last = undefined;
  room = entered.get("room");
  name = entered.get("name");
  connect();
};

$("writing").onsubmit = (event) => {
  event.preventDefault();
  if (socket?.readyState !== WebSocket.OPEN) return show("Enter a room first");
  socket.send(JSON.stringify({ text: new FormData(event.target).get("text") }));
  event.target.reset();
};

$("picture").onsubmit = async (event) => {
  event.preventDefault();
  if (!room) return show("Enter a room first");
  const body = new FormData(event.target);
  body.set("name", name);
  const response = await fetch(`/rooms/${encodeURIComponent(room)}/pictures`, { method: "POST", body });
  if (response.ok) return event.target.reset();
  const { detail, errors } = await response.json();
  show(errors?.[0].message ?? detail);
};

const activity = new EventSource("/activity");
activity.onmessage = ({ data }) => {
  const { room, name } = JSON.parse(data);
  const item = document.createElement("li");
  item.textContent = `${name} in ${room}`;
  $("activity").prepend(item);
  while ($("activity").children.length > 20) $("activity").lastChild.remove();
};

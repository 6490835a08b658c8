// Events as they happen, by one stream for the whole page. A page that is hidden reads none.

const SILENT_MS = 60_000;
let source = null;
let lastId = "";
let state = "off";
let retry = 0;
const listeners = new Set();
const watchers = new Set();

/** `callback(event)` for each event until the function that is returned is called. */
export function onEvent(callback) {
  listeners.add(callback);
  return () => listeners.delete(callback);
}

/** `callback(state)` when the stream becomes "live", "waiting" or "off"; until the function returned is called. */
export function onLiveState(callback) {
  watchers.add(callback);
  callback(state);
  return () => watchers.delete(callback);
}

export function start() {
  stop();
  say("waiting");
  source = new EventSource(`/api/v1/events${lastId ? `?after=${encodeURIComponent(lastId)}` : ""}`);
  source.onopen = () => say("live");
  source.onerror = () => {
    say("waiting");
    if (source?.readyState === EventSource.CLOSED) {
      // Refused (there are enough readers, or the session is over): ask again later, and not as fast as one can.
      stop();
      retry = setTimeout(() => !document.hidden && start(), 10_000);
    }
  };
  source.onmessage = hear;
}

export function stop() {
  clearTimeout(retry);
  source?.close();
  source = null;
  say("off");
}

function hear(message) {
  let event;
  try {
    event = JSON.parse(message.data);
  } catch {
    return;
  }
  if (message.lastEventId) lastId = message.lastEventId;
  say("live");
  for (const each of listeners) each(event);
}

function say(now) {
  if (now === state) return;
  state = now;
  for (const each of watchers) each(state);
}

let hiddenSince = 0;
document.addEventListener("visibilitychange", () => {
  if (state === "off" && !hiddenSince) return;
  if (document.hidden) {
    hiddenSince = Date.now();
    stop();
  } else {
    if (Date.now() - hiddenSince > SILENT_MS) lastId = "";
    hiddenSince = 0;
    start();
    for (const each of listeners) each({ tag: "saltern/dashboard/shown", data: {} });
  }
});

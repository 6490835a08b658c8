// Times, numbers and names as people read them.

import { h } from "./dom.js";

const UNITS = [
  ["d", 86400],
  ["h", 3600],
  ["min", 60],
  ["s", 1],
];

/** `3 min`, `2 d 4 h`; of less than a second `0.4 s`. */
export function duration(seconds) {
  if (seconds === null || seconds === undefined || !Number.isFinite(seconds)) return "";
  if (seconds < 10) return `${seconds.toFixed(seconds < 1 ? 2 : 1)} s`;
  let rest = Math.round(seconds);
  const parts = [];
  for (const [name, size] of UNITS) {
    const count = Math.floor(rest / size);
    rest -= count * size;
    if (count) parts.push(`${count} ${name}`);
    else if (parts.length) break;
    if (parts.length === 2) break;
  }
  return parts.join(" ");
}

/** How long ago, with the whole time for who points at it. */
export function ago(time, { empty = "never" } = {}) {
  if (!time) return h("span", { class: "faint" }, empty);
  const seconds = Date.now() / 1000 - time;
  let text;
  if (Math.abs(seconds) < 2) text = "now";
  else if (seconds < 0) text = `in ${coarse(-seconds)}`;
  else text = `${coarse(seconds)} ago`;
  return h("time", { datetime: new Date(time * 1000).toISOString(), title: clock(time) }, text);
}

function coarse(seconds) {
  for (const [name, size] of UNITS) if (seconds >= size) return `${Math.floor(seconds / size)} ${name}`;
  return "1 s";
}

/** A time as a clock shows it, of this browser's time zone. */
export function clock(time) {
  return new Date(time * 1000).toLocaleString(undefined, { dateStyle: "medium", timeStyle: "medium" });
}

/** `1,204`. */
export function count(number) {
  return Number(number ?? 0).toLocaleString("en");
}

/** `1 minion`, `3 minions`. */
export function plural(number, one, many = `${one}s`) {
  return `${count(number)} ${number === 1 ? one : many}`;
}

/** `nginx.conf (file.managed)` of the key of a state. */
export function stateTitle(key) {
  const [state, id, name, fun] = key.split("_|-");
  if (fun === undefined) return key;
  const called = `${state}.${fun.replace(/#\d+$/, "")}`;
  return id === name || name.startsWith("<") ? `${id} (${called})` : `${id} · ${name} (${called})`;
}

/** A value as text, one line. */
export function inline(value) {
  if (value === null || value === undefined) return "—";
  return typeof value === "string" ? value : JSON.stringify(value);
}

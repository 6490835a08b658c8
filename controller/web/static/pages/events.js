// Events as they happen: filtered, paused, and each with what it carries.

import { h } from "../dom.js";
import { count } from "../format.js";
import { badge, button, heading, minionLink, pre, table } from "../parts.js";
import { get } from "../api.js";

const MOST = 500;

export const eventsPage = {
  title: () => "Events",
  load: async (_, signal, ctx) => {
    if (!ctx.state.events) {
      const kept = await get("/events", { since: 900, follow: "false" }, signal).catch(() => []);
      ctx.state.events = kept.reverse().slice(0, MOST);
    }
    return {};
  },
  onEvent: (event, ctx) => {
    if (!event.time) return;
    const { state } = ctx;
    if (state.paused) {
      state.missed = (state.missed ?? 0) + 1;
    } else {
      state.events = [event, ...(state.events ?? [])].slice(0, MOST);
    }
    if (!state.drawing) {
      state.drawing = setTimeout(() => {
        state.drawing = 0;
        if (!ctx.ended) ctx.set({});
      }, 300);
    }
  },
  view: (_, ctx) => {
    const { query } = ctx.params;
    const { state } = ctx;
    const wanted = matcher(query.tag ?? "");
    const text = (query.text ?? "").toLowerCase();
    const shown = (state.events ?? []).filter((each) => wanted(each.tag) && (!query.minion || each.minion === query.minion) && (!text || JSON.stringify(each).toLowerCase().includes(text)));
    return [
      heading("Events", {
        about: "Of the last quarter of an hour, and as they happen.",
        actions: [button(state.paused ? `Go on${state.missed ? ` (${count(state.missed)} missed)` : ""}` : "Pause", () => ctx.set({ paused: !state.paused, missed: 0 }), { kind: state.paused ? "primary" : "" })],
      }),
      h(
        "form",
        {
          class: "filters",
          role: "search",
          "aria-label": "Filter events",
          onsubmit: (event) => {
            event.preventDefault();
            const { tag, minion, text: words } = event.target.elements;
            ctx.go({ tag: tag.value.trim(), minion: minion.value.trim(), text: words.value.trim() });
          },
        },
        h("label", { class: "field" }, h("span", {}, "Tag"), h("input", { type: "search", name: "tag", value: query.tag ?? "", placeholder: "saltern/minion/*", maxlength: "300" })),
        h("label", { class: "field" }, h("span", {}, "Minion"), h("input", { type: "search", name: "minion", value: query.minion ?? "", maxlength: "300" })),
        h("label", { class: "field" }, h("span", {}, "Has"), h("input", { type: "search", name: "text", value: query.text ?? "", maxlength: "300" })),
        h("button", { type: "submit" }, "Filter"),
      ),
      state.paused ? h("p", {}, badge("warn", "‖", "paused"), " Events go on; they are not shown.") : null,
      table(
        "Events",
        [["When"], ["Tag"], ["Minion"], ["Data", "text"]],
        shown.slice(0, 200).map((each) => ({
          key: each.id || `${each.time}${each.tag}`,
          cells: [
            h("time", { datetime: new Date(each.time * 1000).toISOString() }, new Date(each.time * 1000).toLocaleTimeString()),
            h("code", {}, each.tag),
            minionLink(each.minion),
            h("details", {}, h("summary", { class: "line" }, h("code", {}, JSON.stringify(each.data).slice(0, 160))), pre(JSON.stringify(each, null, 2))),
          ],
        })),
        "Nothing yet that these filters let through.",
      ),
      shown.length > 200 ? h("p", { class: "faint" }, `and ${count(shown.length - 200)} older ones`) : null,
    ];
  },
};

/** A glob of tags, compared part by part, so that no pattern takes long. */
function matcher(pattern) {
  if (!pattern) return () => true;
  const parts = pattern.split("*");
  return (tag) => {
    if (!tag.startsWith(parts[0])) return false;
    let at = parts[0].length;
    for (const part of parts.slice(1, -1)) {
      const found = tag.indexOf(part, at);
      if (found < 0) return false;
      at = found + part.length;
    }
    return parts.length === 1 ? tag.length === at : tag.endsWith(parts.at(-1)) && tag.length - parts.at(-1).length >= at;
  };
}

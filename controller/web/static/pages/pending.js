// What the fleet has not applied yet, and what drifted: by classes of minions with the same change.

import { h } from "../dom.js";
import { get } from "../api.js";
import { heading } from "../parts.js";
import { reportView } from "../report.js";

export const pendingPage = {
  title: () => "Pending",
  live: (event) => event.tag.includes("revision") || event.tag.includes("/result") || event.tag.includes("drift"),
  load: async ({ query: { expression } }, signal) => {
    const items = await get("/diff/fleet", { expression }, signal);
    return items.find((each) => each.t === "preview-finished").report;
  },
  view: (report, ctx) => [
    heading("Pending", { about: "What git says and minions have not applied yet, and what differs on them." }),
    h(
      "form",
      {
        class: "filters",
        role: "search",
        "aria-label": "Filter minions",
        onsubmit: (event) => {
          event.preventDefault();
          ctx.go({ expression: event.target.elements.expression.value.trim() });
        },
      },
      h("label", { class: "field" }, h("span", {}, "Minions"), h("input", { type: "search", name: "expression", value: ctx.params.query.expression ?? "", placeholder: "web*", maxlength: "2000" })),
      h("button", { type: "submit" }, "Filter"),
    ),
    report.classes.length || report.drift.length || report.broken.length ? reportView(report) : h("p", { class: "empty" }, "Nothing is pending, and nothing differs."),
  ],
};

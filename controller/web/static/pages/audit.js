// What people asked of the controller, and whether they might.

import { h } from "../dom.js";
import { get } from "../api.js";
import { ago } from "../format.js";
import { badge, heading, link, note, table } from "../parts.js";

const LIMIT = 200;

export const auditPage = {
  title: () => "Audit",
  load: async ({ query: { user, denied } }, signal) => get("/audit", { user, denied: denied ? "true" : "", limit: LIMIT }, signal),
  view: (page, ctx) => {
    const { query } = ctx.params;
    return [
      heading("Audit", { about: `The newest ${LIMIT} decisions.`, actions: [link(ctx.href({ denied: query.denied ? "" : "1" }), query.denied ? "All" : "Only refusals")] }),
      page.broken.length ? note("bad", h("p", {}, `The chain of digests is broken at ${page.broken.join(", ")}.`)) : null,
      table(
        "Audit log",
        [["When"], ["Who"], ["Did", "text"], ["Allowed"], ["Why", "text"], ["From"], ["Detail", "text"]],
        [...page.rows].reverse().map((each) => ({
          key: String(each.seq),
          cells: [ago(each.time), each.user || "—", each.action, each.allowed ? badge("ok", "✓", "yes") : badge("bad", "✕", "no"), each.why, each.address || each.method, h("code", { class: "wrap" }, each.detail.slice(0, 400))],
        })),
        "Nothing was asked yet.",
      ),
    ];
  },
};

// One search over minions, revisions, runs and jobs.

import { h } from "../dom.js";
import { get } from "../api.js";
import { ago } from "../format.js";
import { heading, section, table } from "../parts.js";

const HREF = {
  minion: (name) => `/minions/${encodeURIComponent(name)}`,
  revision: (name) => `/revisions/${encodeURIComponent(name)}`,
  run: (name) => `/runs/${encodeURIComponent(name)}`,
  job: (name) => `/jobs/${encodeURIComponent(name)}`,
};

export const searchPage = {
  title: ({ query }) => `Search: ${query.q ?? ""}`,
  load: async ({ query }, signal) => (query.q ? get("/search", { q: query.q }, signal) : { hits: [] }),
  view: (answer, ctx) => [
    heading(`Search: ${ctx.params.query.q ?? ""}`),
    ...["minion", "revision", "run", "job"].map((kind) => {
      const hits = answer.hits.filter((each) => each.kind === kind);
      if (!hits.length) return null;
      return section(
        `${kind[0].toUpperCase()}${kind.slice(1)}s`,
        table(kind, [["Name"], ["What", "text"], ["When"]], hits.map((each) => ({ key: each.name, cells: [h("a", { href: HREF[kind](each.name) }, each.name), each.text ?? "", ago(each.time, { empty: "" })] }))),
      );
    }),
    answer.hits.length ? null : h("p", { class: "empty" }, "Nothing is called so."),
  ],
};

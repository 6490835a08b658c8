// What reactors and native rules did, and the trace of one firing.

import { h } from "../dom.js";
import { get } from "../api.js";
import { ago, duration, inline } from "../format.js";
import { badge, facts, heading, link, minionLink, outcomeBadge, pre, problems, section, table } from "../parts.js";

const LIMIT = 50;

export const reactionsPage = {
  title: () => "Reactions",
  live: (event) => event.tag.includes("reaction") || event.tag.includes("reactor"),
  load: async ({ query: { before, minion } }, signal) => get("/reactions", { limit: LIMIT, before, minion }, signal),
  view: (reactions, ctx) => [
    heading("Reactions", {
      about: "Events that reactors and rules answered, newest first.",
      actions: ctx.params.query.minion ? [link(ctx.href({ minion: "", before: "" }), "All minions")] : [],
    }),
    table(
      "Reactions",
      [["When"], ["Event"], ["Minion"], ["Outcome"], ["By", "text"], ["Did", "text"]],
      reactions.map((each) => ({
        key: each.id,
        cells: [
          link(`/reactions/${encodeURIComponent(each.id)}`, ago(each.time)),
          h("code", {}, each.tag),
          minionLink(each.minion),
          outcomeBadge(each.outcome || "pending"),
          each.rule ? `rule ${each.rule}` : each.sls.join(", "),
          each.reactions.map((one) => one.fun).join(", "),
        ],
      })),
      ctx.params.query.before ? "None is older." : "No reactor has answered an event yet.",
    ),
    reactions.length === LIMIT ? h("p", { class: "pager" }, link(ctx.href({ before: reactions.at(-1).id }), "Older →")) : null,
  ],
};

export const reactionPage = {
  title: ({ parts }) => `Reaction ${parts[0]}`,
  live: (event, { parts }) => event.tag.includes("reaction") || event.cause === parts[0],
  load: async ({ parts: [id] }, signal) => get("/reaction", { id }, signal),
  view: ({ reaction, steps }) => [
    heading(reaction.tag, { badges: [outcomeBadge(reaction.outcome || "pending")] }),
    facts([
      ["When", ago(reaction.time)],
      ["Minion", reaction.minion ? minionLink(reaction.minion) : ""],
      ["Rule", reaction.rule],
      ["SLS", reaction.sls.join(", ")],
      ["Took", duration(reaction.seconds)],
    ]),
    problems(reaction.errors),
    problems(reaction.warnings, "warn"),
    section(
      "Asked for",
      table(
        "Reactions",
        [["Id"], ["Function"], ["Target"], ["Runs", "text"]],
        reaction.reactions.map((each) => [
          each.id ?? "—",
          h("code", {}, each.fun ?? ""),
          inline(each.tgt ?? ""),
          h("span", {}, ...Object.entries(each.jobs ?? {}).flatMap(([minion, run], at) => [at ? ", " : "", link(minion ? `/runs/${encodeURIComponent(run)}` : `/jobs/${encodeURIComponent(run)}`, minion || run)])),
        ]),
        "Nothing.",
      ),
    ),
    section(
      "What happened",
      h(
        "ol",
        { class: "steps" },
        ...steps.map((each) =>
          h("li", { key: each.id || undefined }, h("span", { class: "when" }, ago(each.time)), h("span", { class: "step" }, each.tag), h("details", {}, h("summary", {}, badge("off", "•", each.minion || "controller")), pre(JSON.stringify(each.data, null, 2)))),
        ),
      ),
    ),
  ],
};

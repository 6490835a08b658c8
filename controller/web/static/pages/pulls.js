// Open pull requests with the reports of their previews.

import { h } from "../dom.js";
import { get, post } from "../api.js";
import { ago, count, plural } from "../format.js";
import { act, ask, attempt, badge, facts, heading, link, minionLink, note, section, table } from "../parts.js";
import { reportView } from "../report.js";

const CHECK = { success: ["ok", "✓"], failure: ["bad", "✕"], running: ["busy", "↻"], neutral: ["off", "–"], cancelled: ["off", "–"] };

const pathOf = (one) => `/pulls/${encodeURIComponent(one.forge)}/${one.project.split("/").map(encodeURIComponent).join("/")}/${one.number}`;

function check(one) {
  if (!one.check) return badge("off", "○", one.preview || "none");
  return badge(...CHECK[one.check], one.check);
}

export const pullsPage = {
  title: () => "Pull requests",
  live: (event) => event.tag.startsWith("saltern/pull"),
  load: async (_, signal) => get("/pulls", {}, signal),
  view: (pulls) => [
    heading("Pull requests", { about: "Open ones, with what they would change." }),
    table(
      "Pull requests",
      [["Pull request", "text"], ["Check"], ["Would change", "number"], ["Broken", "number"], ["Previewed"], ["Waits for", "text"]],
      pulls.map((each) => ({
        key: pathOf(each),
        cells: [
          h("span", {}, link(pathOf(each), `${each.project}#${each.number}`), ` ${each.title}`, each.draft ? badge("off", "○", "draft") : null, each.from_fork ? badge("warn", "!", "fork") : null),
          check(each),
          count(each.changed),
          each.broken ? count(each.broken) : "·",
          ago(each.previewed_at),
          each.waiting_for || "the merge",
        ],
      })),
      "No open pull request is previewed. docs/pull-requests.md says how they are.",
    ),
  ],
};

export const pullPage = {
  title: ({ parts }) => `${parts[1]}#${parts[2]}`,
  live: (event, { parts }) => event.tag.startsWith("saltern/pull") && event.data?.project === parts[1] && String(event.data?.number) === parts[2],
  load: async ({ parts: [forge, project, number] }, signal) => {
    const pulls = await get("/pulls", {}, signal);
    const one = pulls.find((each) => each.forge === forge && each.project === project && String(each.number) === number) ?? null;
    const report = await get("/pulls/report", { forge, project, number }, signal).catch((error) => {
      if (error.status === 404) return null;
      throw error;
    });
    return { name: `${project}#${number}`, one, report };
  },
  view: ({ name, one, report }, ctx) => [
    heading(one ? one.title : name, { badges: one ? [check(one), one.draft ? badge("off", "○", "draft") : null, one.from_fork ? badge("warn", "!", "from a fork") : null] : [badge("off", "–", "not open")] }),
    one
      ? facts([
          ["Pull request", one.url ? h("a", { href: one.url, rel: "noreferrer" }, name) : name],
          ["Into", h("code", {}, one.base_branch)],
          ["Head", h("code", {}, one.head.slice(0, 12))],
          ["Waits for", one.waiting_for || "the merge"],
          ["Preview", one.preview ? h("span", {}, `${one.preview} `, ago(one.preview_since)) : "none"],
          ["Approved by", one.approved_by],
        ])
      : null,
    one && report && one.previewed_head !== one.head ? note("warn", h("p", {}, "The report is of an earlier head: ", h("code", {}, one.previewed_head.slice(0, 12)))) : null,
    ...(one?.held ?? []).map((each) =>
      note(
        "info",
        h("p", {}, `${each.user} has applied `, h("code", {}, each.head.slice(0, 12)), ` on ${plural(each.minions.length, "minion")}; they go back `, ago(each.until), ". ", ...each.minions.slice(0, 10).flatMap((minion, at) => [at ? ", " : "", minionLink(minion)])),
        act(ctx.session, "operator", "Have them go back now", () => goBack(one, ctx)),
      ),
    ),
    report ? section("Report", reportView(report)) : h("p", { class: "empty" }, "There is no report yet."),
  ],
};

async function goBack(one, ctx) {
  const pull = `${one.forge}:${one.project}#${one.number}`;
  if ((await ask({ title: `Have minions go back from ${one.project}#${one.number}?`, yes: "Go back" })) === null) return;
  if (await attempt(() => post("/unapply", { pull }), (minions) => `${plural(minions.length, "minion")} go back.`)) ctx.soon(200);
}

// Keys of minions: those that wait, with their fingerprints, and the others.

import { h } from "../dom.js";
import { get, post } from "../api.js";
import { ago, count } from "../format.js";
import { act, ask, attempt, badge, heading, keyBadge, note, pager, section, select, table } from "../parts.js";

const LIMIT = 100;

export const keysPage = {
  title: () => "Keys",
  live: (event) => event.tag.includes("key") || event.tag.includes("/auth"),
  load: async ({ query }, signal) => Promise.all([get("/keys", {}, signal), get("/keys/controller", {}, signal), query]),
  view: ([answer, own], ctx) => {
    const keys = Array.isArray(answer) ? answer : answer.keys;
    const { query } = ctx.params;
    const text = (query.text ?? "").toLowerCase();
    const pending = keys.filter((each) => each.state === "pending");
    const others = keys.filter((each) => each.state !== "pending" && (!query.state || each.state === query.state) && (!text || each.minion.toLowerCase().includes(text) || shown(each).includes(text)));
    const offset = Number(query.offset ?? 0) || 0;
    return [
      heading("Keys", { about: ["This controller: ", h("code", { class: "wrap" }, own.fingerprint)] }),
      section(
        `Waiting (${count(pending.length)})`,
        pending.length ? note("info", h("p", {}, "Compare the fingerprint with what ", h("code", {}, "saltern minion fingerprint"), " shows on the machine before you accept it, or ", h("code", {}, "salt-call --local key.finger"), " on a stock salt-minion.")) : null,
        keyTable(pending.slice(0, 200), ctx, "No key waits."),
        pending.length > 200 ? h("p", { class: "faint" }, `and ${count(pending.length - 200)} more`) : null,
      ),
      section(
        "Accepted and rejected",
        h(
          "form",
          {
            class: "filters",
            role: "search",
            "aria-label": "Filter keys",
            onsubmit: (event) => {
              event.preventDefault();
              ctx.go({ text: event.target.elements.text.value.trim() });
            },
          },
          h("label", { class: "field" }, h("span", {}, "Id or fingerprint has"), h("input", { type: "search", name: "text", value: query.text ?? "", maxlength: "200" })),
          select("State", query.state ?? "", [["", "any"], ["accepted", "accepted"], ["rejected", "rejected"]], (state) => ctx.go({ state })),
          h("button", { type: "submit" }, "Filter"),
        ),
        keyTable(others.slice(offset, offset + LIMIT), ctx, "No such key."),
        pager({ offset, limit: LIMIT, total: others.length, to: (next) => ctx.href({ offset: next || "" }) }),
      ),
    ];
  },
};

function shown(key) {
  return key.salt_fingerprint || key.fingerprint;
}

function keyTable(keys, ctx, empty) {
  return table(
    "Keys",
    [["Id"], ["State"], ["Fingerprint", "text"], ["First seen"], [""]],
    keys.map((each) => ({
      key: each.fingerprint,
      cells: [
        h("span", {}, each.state === "accepted" && each.role === "minion" ? h("a", { href: `/minions/${encodeURIComponent(each.minion)}` }, each.minion) : each.minion, " ", each.role === "minion" ? null : badge("off", "•", each.role)),
        h("span", {}, keyBadge(each.state), " ", each.conflict ? badge("bad", "!", "another key has this id, or came first") : null),
        h("span", {}, h("code", { class: "wrap fingerprint" }, shown(each)), " ", each.salt_fingerprint ? badge("off", "•", "salt-minion") : null),
        ago(each.first_seen),
        h("span", { class: "row-actions" }, ...rowActions(each, ctx)),
      ],
    })),
    empty,
  );
}

function rowActions(one, ctx) {
  const change = (verb, text, kind) => async () => {
    const answer = await ask({ title: `${text} the key of ${one.minion}?`, text: [h("code", { class: "wrap fingerprint" }, shown(one)), verb === "delete" ? "It may ask again." : ""], yes: text, kind });
    if (answer === null) return;
    if (await attempt(() => post(`/keys/${verb}`, { names: [one.fingerprint] }), `${one.minion}: done.`)) ctx.soon(200);
  };
  const { session } = ctx;
  return [
    one.state !== "accepted" ? act(session, "admin", "Accept", change("accept", "Accept", "primary"), { kind: "primary" }) : null,
    one.state === "pending" ? act(session, "admin", "Reject", change("reject", "Reject", "danger"), { kind: "danger" }) : null,
    one.state !== "pending" ? act(session, "admin", "Delete", change("delete", "Delete", "danger"), { kind: "danger" }) : null,
  ];
}

// The list of agents.
import * as api from "./api.js";
import { t } from "./text.js";
import { plain, when } from "./view.js";

function users({ numbers, campaigns, queued_calls: calls }) {
  return [
    numbers ? t("{count} numbers", { count: numbers }) : "",
    campaigns ? t("{count} campaigns", { count: campaigns }) : "",
    calls ? t("{count} waiting calls", { count: calls }) : "",
  ].filter(Boolean).join(", ");
}

export const agents = {
  title: t("Agents"),
  about: t("Who speaks in a call: texts, questions, voice, models and tools, in versions that can be restored."),
  empty: t("No agents yet."),
  writes: "operator",
  addPath: "/new-agent", addName: t("New agent"),
  list: api.agents.list,
  columns: [
    { name: t("Name"), text: (item) => item.name, link: (item) => `/agents/${item.slug}` },
    { name: t("Short name"), text: (item) => item.slug },
    {
      name: t("Version"),
      text: ({ live, latest }) => {
        if (live === 0) return t("configuration");
        return latest > live ? t("{live} live, {latest} draft", { live, latest }) : t("{live} live", { live });
      },
      tone: ({ live, latest }) => (live === 0 ? "" : latest > live ? "warn" : "good"),
    },
    { name: t("Mode"), text: (item) => plain(item.mode) },
    { name: t("Language"), text: (item) => item.language ?? "" },
    { name: t("Used by"), text: (item) => users(item.used_by) },
    { name: t("Changed"), text: (item) => when(item.updated_at) },
  ],
};

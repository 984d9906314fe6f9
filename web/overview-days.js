// How many calls were completed on each of the last days.
import { language } from "./text.js";
import { bar, element, part, percentage, showFigure } from "./view.js";

const dayLimit = 14;

export function daysPart(root) {
  const format = new Intl.DateTimeFormat(language, { month: "short", day: "numeric", timeZone: "UTC" });

  function rowOf(day, most) {
    const row = element("li");
    row.append(
      element("span", format.format(new Date(`${day.day}T00:00:00Z`)), "muted"),
      bar(["completed", day.completed / most], ["other", (day.total - day.completed) / most]),
      element("span", `${day.completed} / ${day.total}`, "num"),
    );
    return row;
  }

  function show(statistics) {
    const days = statistics.by_day.slice(-dayLimit);
    const today = statistics.by_day.find((one) => one.day === new Date().toISOString().slice(0, 10));
    showFigure(root, "today", today?.total ?? 0);
    showFigure(root, "success_rate", percentage(statistics.success_rate));
    const most = Math.max(1, ...days.map((one) => one.total));
    part(root, "days").replaceChildren(...days.map((day) => rowOf(day, most)));
    part(root, "no-days").hidden = days.length > 0;
  }
  return { show };
}

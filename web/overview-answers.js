// The answers that callees gave most often to the questions that were asked most often.
import { t } from "./text.js";
import { answerStatuses, bar, element, part } from "./view.js";

const questionLimit = 5;
// Different answers shown for one question; the others are one bar.
const answerLimit = 5;
const valueNames = new Map([["yes", t("Yes")], ["no", t("No")]]);

const sum = (counts) => counts.reduce((all, one) => all + one, 0);
const isNoAnswer = (label) => label !== "answered" && answerStatuses.has(label);

function barsOf({ counts }) {
  const given = Object.entries(counts).sort(([, a], [, b]) => b - a);
  const bars = given.slice(0, answerLimit).map(([label, times]) => ({
    name: valueNames.get(label) ?? answerStatuses.get(label)?.[0] ?? label,
    times,
    tone: isNoAnswer(label) ? "other" : "answer",
  }));
  const others = sum(given.slice(answerLimit).map(([, times]) => times));
  if (others > 0) bars.push({ name: t("other answers"), times: others, tone: "other" });
  return bars;
}

function chartOf(question) {
  const list = element("ol", "", "days");
  for (const { name, times, tone } of barsOf(question)) {
    const label = element("span", name);
    label.title = name;
    const row = element("li");
    row.append(label, bar([tone, times / question.count]), element("span", times, "num"));
    list.append(row);
  }
  const chart = element("div");
  chart.append(element("h3", question.question_text), list);
  return chart;
}

export function answersPart(root) {
  function show(answers) {
    const charts = answers
      .map((one) => ({ ...one, count: sum(Object.values(one.counts)) }))
      .sort((a, b) => b.count - a.count)
      .slice(0, questionLimit)
      .map(chartOf);
    part(root, "answers").replaceChildren(...charts);
    part(root, "no-answers").hidden = charts.length > 0;
  }
  return { show };
}

// The list of questions in a form: rows that come and go, and what stands in them.
import { limit, member } from "./form.js";
import { part, template } from "./view.js";

/** @param schema of the form that the questions are a member of */
export function questionList(list, addButton, schema) {
  const { maxItems, items } = member(schema, "questions");
  const described = items.anyOf.find(({ type }) => type === "object");
  const kept = new Map();
  function add(question = null) {
    const row = template("question").querySelector("li");
    const field = (name) => row.querySelector(`[data-field="${name}"]`);
    for (const name of ["text", "type"]) limit(field(name), described, name);
    if (question) {
      field("text").value = question.text;
      field("type").value = question.type ?? "text";
      field("choices").value = (question.choices ?? []).join(", ");
    }
    const showChoices = () => { part(row, "choices").hidden = field("type").value !== "choice"; };
    field("type").addEventListener("change", showChoices);
    showChoices();
    row.querySelector('[data-action="remove-question"]').addEventListener("click", () => {
      row.remove();
      if (!list.children.length) add();
      addButton.disabled = false;
    });
    // What this form does not show goes back as it came.
    kept.set(
      row,
      Object.fromEntries(
        ["required", "ask_if"].filter((name) => question?.[name] != null).map((name) => [name, question[name]])
      )
    );
    list.append(row);
    addButton.disabled = list.children.length >= maxItems;
    return row;
  }
  addButton.addEventListener("click", () => add().querySelector("input").focus());
  add();

  return {
    fill(questions) {
      list.replaceChildren();
      for (const question of questions) add(typeof question === "string" ? { text: question } : question);
      if (!list.children.length) add();
    },
    read() {
      return [...list.children].map((row) => {
        const field = (name) => row.querySelector(`[data-field="${name}"]`).value;
        const question = { text: field("text").trim(), type: field("type") };
        if (question.type === "choice") {
      question.choices = field("choices").split(",").map((text) => text.trim()).filter(Boolean);
    }
        Object.assign(question, kept.get(row));
        return question.type === "text" && Object.keys(question).length === 2 ? question.text : question;
      });
    },
  };
}

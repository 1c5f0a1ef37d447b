"use strict";
// Long tables: only the rows that have all the words. Without scripts, all of them stand there and no field does.
for (const field of document.querySelectorAll("input[data-filters]")) {
  const rows = [...document.getElementById(field.dataset.filters).tBodies[0].rows];
  const texts = rows.map((row) => row.textContent.toLowerCase());
  field.hidden = false;
  field.addEventListener("input", () => {
    const words = field.value.toLowerCase().split(/\s+/);
    rows.forEach((row, number) => { row.hidden = !words.every((word) => texts[number].includes(word)); });
  });
}

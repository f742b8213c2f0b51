// Sorting, filtering and copying. Without this file every page is complete; nothing here is fetched or sent.
"use strict";
document.documentElement.classList.add("script");

const collator = new Intl.Collator("en", { numeric: true, sensitivity: "base" });

function announce(text) {
  document.getElementById("announce").textContent = text;
}

function number(text) {
  const found = text.replace(/[#$,]/g, "").trim();
  return found === "" || Number.isNaN(Number(found)) ? null : Number(found);
}

// What has no value stays below, whichever way the column is sorted.
function sorted(rows, column, isNumber, direction) {
  const keyed = rows.map((row, place) => {
    const text = row.cells[column].textContent.trim();
    return { row, place, key: isNumber ? number(text) : text === "–" ? null : text };
  });
  keyed.sort((a, b) => {
    if (a.key === null || b.key === null) return (a.key === null) - (b.key === null) || a.place - b.place;
    const order = isNumber ? a.key - b.key : collator.compare(a.key, b.key);
    return order * direction || a.place - b.place;
  });
  return keyed.map((item) => item.row);
}

function makeSortable(table) {
  const heads = [...table.tHead.rows[0].cells];
  const body = table.tBodies[0];
  const asRanked = [...body.rows];
  heads.forEach((head, column) => {
    const name = head.textContent.replace(/\s+/g, " ").trim();
    if (head.querySelector(".hidden-name")) return;
    const button = document.createElement("button");
    button.type = "button";
    button.className = "sort";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const direction = head.getAttribute("aria-sort") === "ascending" ? -1 : 1;
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", direction === 1 ? "ascending" : "descending");
      body.append(...sorted(asRanked, column, head.dataset.kind === "number", direction));
      announce(`Sorted by ${name}, ${direction === 1 ? "ascending" : "descending"}`);
    });
  });
}

function makeFilter(input) {
  const table = document.getElementById(input.dataset.filters);
  const count = document.querySelector(`[data-counts="${input.dataset.filters}"]`);
  const rows = [...table.tBodies[0].rows];
  const texts = rows.map((row) => row.textContent.toLowerCase());
  const show = () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    rows.forEach((row, place) => {
      row.hidden = !words.every((word) => texts[place].includes(word));
      shown += row.hidden ? 0 : 1;
    });
    count.textContent = words.length ? `${shown} of ${rows.length}` : "";
    if (words.length) announce(`${shown} of ${rows.length} recipes shown`);
  };
  input.addEventListener("input", show);
  if (input.value) show();
}

async function copyText(text) {
  if (navigator.clipboard) {
    try {
      await navigator.clipboard.writeText(text);
      return;
    } catch {
      // Not allowed here: the older way below may be.
    }
  }
  const area = document.createElement("textarea");
  area.value = text;
  area.className = "hidden-name";
  document.body.append(area);
  area.select();
  const copied = document.execCommand("copy");
  area.remove();
  if (!copied) throw new Error("copying is not allowed here");
}

function makeCopy(button) {
  button.addEventListener("click", async () => {
    const label = button.firstChild;
    try {
      await copyText(document.getElementById(button.dataset.copies).textContent);
      label.textContent = "Copied";
      announce("Copied");
    } catch {
      label.textContent = "Select it";
      getSelection().selectAllChildren(document.getElementById(button.dataset.copies));
      announce("Copying is not allowed here; the text is selected");
    }
    setTimeout(() => (label.textContent = "Copy"), 1600);
  });
}

document.addEventListener("DOMContentLoaded", () => {
  document.querySelectorAll("table.sortable").forEach(makeSortable);
  document.querySelectorAll("input[data-filters]").forEach(makeFilter);
  document.querySelectorAll("button[data-copies]").forEach(makeCopy);
});

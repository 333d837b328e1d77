// Tables and lists of many clusters: found by a text, sorted by a column.
(() => {
  "use strict";
  const plain = (text) => text.replace(/\s+/g, " ").trim();
  function number(text) {
    const found = plain(text).replace("−", "-").replace(/[,%<>]/g, "").match(/^-?[\d.]+(e[-−]?\d+)?/i);
    return found ? Number(found[0].replace("−", "-")) : NaN;
  }

  function addSearch(box, items) {
    const line = document.createElement("p"), input = document.createElement("input"), said = document.createElement("span");
    line.className = "find";
    input.type = "search";
    input.placeholder = "find a cluster or a word";
    input.setAttribute("aria-label", "find a cluster or a word");
    said.setAttribute("role", "status");
    const texts = items.map((item) => plain(item.textContent).toLowerCase());
    const numbers = items.map((item) => plain(item.querySelector(".chip")?.textContent ?? ""));
    function show() {
      const wanted = input.value.trim().toLowerCase(), isNumber = /^\d+$/.test(wanted);
      let count = 0;
      items.forEach((item, i) => {
        item.hidden = isNumber ? numbers[i] !== wanted : !texts[i].includes(wanted);
        count += !item.hidden;
      });
      said.textContent = `${count} of ${items.length}`;
    }
    input.addEventListener("input", show);
    line.append(input, said);
    box.before(line);
    show();
  }

  function addSorting(table) {
    const body = table.tBodies[0], heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.className = "sort";
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => {
        const isRising = head.getAttribute("aria-sort") === "descending" || (column === 0 && !head.hasAttribute("aria-sort"));
        heads.forEach((other) => other.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", isRising ? "ascending" : "descending");
        const keyed = [...body.rows].map((row) => {
          const bar = row.cells[column].querySelector("i[style]");
          const text = bar ? bar.style.width : row.cells[column].textContent;
          return { row, text: plain(text), value: number(text) };
        });
        const sign = isRising ? 1 : -1;
        keyed.sort((a, b) => {
          if (Number.isNaN(a.value) !== Number.isNaN(b.value)) return Number.isNaN(a.value) ? 1 : -1;
          return sign * (Number.isNaN(a.value) ? a.text.localeCompare(b.text) : a.value - b.value);
        });
        body.append(...keyed.map(({ row }) => row));
      });
    });
  }

  for (const box of document.querySelectorAll(".overview")) {
    const table = box.querySelector(":scope > table");
    addSearch(box, table ? [...table.tBodies[0].rows] : [...box.querySelectorAll(":scope > details")]);
    if (table?.tHead) addSorting(table);
  }
})();

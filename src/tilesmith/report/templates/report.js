const prepare = () => {
  for (const button of document.querySelectorAll("button[data-copy]")) {
    const source = document.getElementById(button.dataset.copy);
    const label = button.textContent;
    button.hidden = false;
    button.addEventListener("click", async () => {
      let told = "Copied";
      try {
        await navigator.clipboard.writeText(source.textContent);
      } catch {
        getSelection().selectAllChildren(source);
        told = document.execCommand("copy") ? "Copied" : "Selected: press Ctrl-C";
      }
      button.textContent = told;
      setTimeout(() => { button.textContent = label; }, 1600);
    });
  }
  const listed = document.querySelectorAll("[data-state]");
  const filters = document.querySelector(".filters");
  if (filters) {
    const count = filters.querySelector("output");
    const fits = (one, { name, value }) => name === "words"
      ? one.textContent.toLowerCase().includes(value.trim().toLowerCase())
      : !value || ` ${one.dataset[name]} `.includes(` ${value} `);
    const apply = () => {
      const asked = [...filters.querySelectorAll("[name]")];
      for (const one of listed) one.hidden = !asked.every((field) => fits(one, field));
      count.textContent = [...listed].filter((one) => !one.hidden).length + " of " + listed.length;
    };
    filters.hidden = false;
    filters.addEventListener("input", apply);
    apply();
  }
  for (const table of document.querySelectorAll("table.sortable")) {
    const heads = [...table.tHead.rows[0].cells];
    const value = (row, place) => row.cells[place].dataset.value ?? row.cells[place].textContent;
    const sort = (place, sign) => {
      const order = (one, other) => {
        const [a, b] = [value(one, place), value(other, place)];
        if (!a || !b) return !a - !b;
        return sign * (isNaN(a) || isNaN(b) ? a.localeCompare(b, "en", { numeric: true }) : a - b);
      };
      table.tBodies[0].append(...[...table.tBodies[0].rows].sort(order));
    };
    heads.forEach((head, place) => {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => {
        const first = head.classList.contains("n") ? "descending" : "ascending";
        const now = head.ariaSort === first ? { ascending: "descending", descending: "ascending" }[first] : first;
        for (const one of heads) one.ariaSort = one === head ? now : null;
        sort(place, now === "ascending" ? 1 : -1);
      });
    });
  }
};
prepare();
const openTarget = () => {
  const target = document.getElementById(location.hash.slice(1));
  if (target instanceof HTMLDetailsElement) { target.hidden = false; target.open = true; target.scrollIntoView(); }
};
addEventListener("hashchange", openTarget);
openTarget();

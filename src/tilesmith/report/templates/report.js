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
  const attempts = document.querySelectorAll("details.attempt");
  const filters = document.querySelector(".filters");
  if (filters) {
    const count = filters.querySelector("output");
    const apply = () => {
      const state = filters.querySelector("[name=state]").value;
      const phase = filters.querySelector("[name=phase]").value;
      let shown = 0;
      for (const one of attempts) {
        const fits = (!state || one.dataset.state.split(" ").includes(state)) && (!phase || one.dataset.phase === phase);
        one.hidden = !fits;
        shown += fits;
      }
      count.textContent = shown + " of " + attempts.length;
    };
    filters.hidden = false;
    filters.addEventListener("input", apply);
    apply();
  }
};
prepare();
const openTarget = () => {
  const target = document.getElementById(location.hash.slice(1));
  if (target instanceof HTMLDetailsElement) { target.hidden = false; target.open = true; target.scrollIntoView(); }
};
addEventListener("hashchange", openTarget);
openTarget();

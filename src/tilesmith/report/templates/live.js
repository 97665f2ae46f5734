const news = document.body.dataset.news;
if (news) {
  let was = document.body.cloneNode(true);
  let asked = false;
  let busy = false;

  const replace = (now) => {
    const clean = now.body.cloneNode(true);
    const focused = document.activeElement;
    const parts = [...document.querySelectorAll("section[id], details[id]")];
    const place = parts.findLast((one) => one.getClientRects().length && one.getBoundingClientRect().top <= 1);
    const height = place?.getBoundingClientRect().top;
    for (const one of now.querySelectorAll("details[id]")) {
      const shown = document.getElementById(one.id);
      if (was.querySelector(`#${CSS.escape(one.id)}`)?.isEqualNode(one)) one.replaceWith(shown);
      else one.open = shown?.open ?? false;
    }
    for (const chosen of document.querySelectorAll(".filters select")) {
      const select = now.querySelector(`.filters select[name=${chosen.name}]`);
      if (select) select.value = chosen.value;
    }
    for (const chosen of document.querySelectorAll("main input:checked")) {
      const input = now.getElementById(chosen.id);
      if (input) input.checked = true;
    }
    for (const part of ["header", "main", "footer"]) {
      document.querySelector(part).replaceWith(now.querySelector(part));
    }
    was = clean;
    prepare();
    const target = place && document.getElementById(place.id);
    if (target) scrollBy(0, target.getBoundingClientRect().top - height);
    if (focused.isConnected) focused.focus({ preventScroll: true });
  };

  const refresh = async () => {
    asked = true;
    if (busy) return;
    busy = true;
    while (asked) {
      asked = false;
      const answer = await fetch(location.href).catch(() => null);
      if (answer?.ok) replace(new DOMParser().parseFromString(await answer.text(), "text/html"));
      await new Promise((done) => setTimeout(done, 1000));
    }
    busy = false;
  };

  let source = null;
  let ended = false;
  const tell = (text) => {
    const place = document.getElementById("following");
    if (place) place.textContent = text;
  };
  const follow = () => {
    source?.close();
    if (document.hidden || ended) return;
    source = new EventSource(news);
    source.addEventListener("open", () => tell("this page follows by itself"));
    source.addEventListener("message", refresh);
    source.addEventListener("error", () => tell("nobody answers; this page stands still"));
    source.addEventListener("end", () => { ended = true; source.close(); });
  };
  document.addEventListener("visibilitychange", follow);
  follow();
}

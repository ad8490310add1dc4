"use strict";
/* Opening a cited story, keyboard and focus. The page works by itself otherwise. */
(() => {
  const REF = 'a[href^="#src-"], a[href^="#near-"]';
  let wanted = "";
  let from = "";
  let asked = 0;
  let following = false;

  const one = (selector) => document.querySelector(selector);
  const shown = (element) => Boolean(element && element.offsetParent !== null);

  const reveal = () => {
    if (!wanted) return;
    const story = document.getElementById(`story-${wanted}`);
    if (!shown(story)) return;
    wanted = "";
    const passage = story.querySelector("mark") || story;
    passage.tabIndex = -1;
    /* A passage near the top is shown with the headline above it. */
    const near = passage.getBoundingClientRect().bottom - story.getBoundingClientRect().top;
    if (near < 0.6 * window.innerHeight) story.scrollIntoView({ block: "start" });
    else passage.scrollIntoView({ block: "center" });
    passage.focus({ preventScroll: true });
  };

  const open = (link) => {
    const box = one("#open-story textarea, #open-story input");
    if (!box) return;
    wanted = link.getAttribute("href").slice(1);
    from = wanted;
    box.value = wanted;
    box.dispatchEvent(new Event("input", { bubbles: true }));
    box.dispatchEvent(new KeyboardEvent("keypress", { key: "Enter", bubbles: true }));
    reveal();
  };

  const close = () => {
    wanted = "";
    const link = from && (one(`#chat a[href="#${from}"]`) || one(`#sources a[href="#${from}"]`));
    const back = link || one("#question textarea");
    if (back) {
      back.focus({ preventScroll: true });
      back.scrollIntoView({ block: "nearest" });
    }
  };

  /* The newest question stays at the top while its answer grows, until the reader moves. */
  const follow = () => {
    const questions = document.querySelectorAll("#chat .user-row");
    if (questions.length > asked) following = true;
    asked = questions.length;
    if (following && asked) questions[asked - 1].scrollIntoView({ block: "start" });
    if (!one("#chat .stage")) following = false;
  };

  const tidy = () => {
    for (const bubble of document.querySelectorAll("#chat [data-testid][aria-label]")) {
      bubble.removeAttribute("aria-label");
    }
    const log = one('#chat [role="log"]');
    if (log) log.setAttribute("aria-busy", String(Boolean(one("#chat .stage"))));
    follow();
    reveal();
  };

  for (const gesture of ["wheel", "touchmove", "pointerdown", "keydown"]) {
    document.addEventListener(gesture, () => { following = false; }, { passive: true });
  }

  document.addEventListener("click", (event) => {
    const target = event.target instanceof Element ? event.target : null;
    const link = target && target.closest(REF);
    if (link && !event.ctrlKey && !event.metaKey && !event.shiftKey) {
      event.preventDefault();
      open(link);
    } else if (target && target.closest("#close-story")) {
      close();
    }
  });

  document.addEventListener("keydown", (event) => {
    const button = one("#close-story");
    if (event.key === "Escape" && shown(button)) button.click();
  });

  let due = false;
  new MutationObserver(() => {
    if (due) return;
    due = true;
    requestAnimationFrame(() => {
      due = false;
      tidy();
    });
  }).observe(document.documentElement, {
    childList: true,
    subtree: true,
    attributes: true,
    attributeFilter: ["aria-label", "class", "style"],
  });
})();

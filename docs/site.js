// What the theme makes in a browser is given names, and what scrolls can be reached by keys.
new MutationObserver(() => {
  document.querySelectorAll("nav.md-code__nav").forEach((each, index) => {
    const name = `Code ${index + 1}`;
    if (each.ariaLabel !== name) each.ariaLabel = name;
  });
  for (const each of document.querySelectorAll(".md-typeset__scrollwrap:not([tabindex])")) each.tabIndex = 0;
}).observe(document.documentElement, { childList: true, subtree: true });

// Runs before the first paint, so that the page does not flash in the other theme.
(function () {
  'use strict';
  try {
    var theme = localStorage.getItem('theme');
    if (theme === 'dark' || theme === 'light') document.documentElement.dataset.theme = theme;
  } catch (e) { /* storage is forbidden: the system's theme stays */ }
  document.documentElement.classList.add('script');
})();

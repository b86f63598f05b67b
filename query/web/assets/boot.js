// Runs before the first paint, so that the page does not flash in the other theme. It also asks for
// what the first page needs, while the modules are still on their way: rpc.js takes the answer.
(function () {
  'use strict';
  try {
    var theme = localStorage.getItem('theme');
    if (theme === 'dark' || theme === 'light') document.documentElement.dataset.theme = theme;
  } catch (e) { /* storage is forbidden: the system's theme stays */ }
  document.documentElement.classList.add('script');

  var early = {};
  function ask(method, message) {
    var body = JSON.stringify(message);
    var answer = early[method + ' ' + body] = fetch('/rondo.v1.Rondo/' + method, {
      method: 'POST', headers: { 'Content-Type': 'application/json' }, body: body,
    });
    answer.catch(function () { /* rpc.js sees it, too */ });
  }
  var path = location.pathname;
  var query = new URLSearchParams(location.search);
  if (path === '/' && !query.get('q')) {
    ask('Tree', { prefix: '', sort: query.get('sort') === 'name' ? 'name' : 'activity', limit: 60 });
  } else if (path.indexOf('/host/') === 0) {
    var prefix = decodeURIComponent(path.slice(6)).replace(/\/+$/, '');
    ask('Charts', { prefix: prefix });
    ask('Tree', { prefix: prefix, sort: 'name', limit: 200 });
  }
  window.rondoEarly = early;
})();

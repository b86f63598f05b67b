// Package web serves the pages of a server: the page with script, plain pages for readers without
// script, and the files that the page loads.
//
// A [Server] answers everything that no other handler of the HTTP port answers. Each page is one
// HTML shell. The shell loads one script, which has assets/main.js with all that it imports, and
// asks the service Rondo for data. The shell also has the content of the page as plain HTML, in the
// element noscript. Every name, title and text is escaped by the template.
package web

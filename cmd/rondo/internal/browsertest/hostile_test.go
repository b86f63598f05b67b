//go:build !race

package browsertest

import (
	"strings"
	"testing"
)

// planted is true if a name or a text of the database has become markup or ran.
const planted = `(() => {
	const found = [];
	const isData = (e, i) => i === 0 && e.id === 'answers' && e.type === 'application/json' && !e.textContent.includes('<') && JSON.parse(e.textContent); // no browser runs it
	[...document.querySelectorAll('script')].forEach((e, i) => { if (!e.src.startsWith(location.origin + '/assets/') && !isData(e, i)) found.push(e.outerHTML); });
	for (const e of document.querySelectorAll('*')) for (const a of e.attributes)
		if (a.name.startsWith('on') || a.value.trim().toLowerCase().startsWith('javascript:')) found.push(e.outerHTML.slice(0, 200));
	for (const e of document.querySelectorAll('img[src="x"], b')) if (e.localName === 'img' || e.textContent.startsWith("'")) found.push(e.outerHTML.slice(0, 200));
	if (window.alerted) found.push('alert was called');
	return found.join('\n');
})()`

// TestHostileTexts: names, labels, units, descriptions and notes that would be markup are shown as
// the text that they are, with scripts and without.
func TestHostileTexts(t *testing.T) {
	s := hosting(t)
	for _, scripts := range []bool{true, false} {
		x := newTab(t, s.url)
		x.scripts(scripts)
		for path, shown := range map[string][]string{
			"/":                           {hostileHost},
			"/?q=" + escaped("onerror"):   {hostileHost},
			"/?q=" + escaped(hostileHost): {hostileHost},
			"/?q=" + escaped(hostileText): {},
			"/host/" + escaped("collectd/"+hostileHost):                                 {hostileHost},
			"/series/" + escaped(hostileSeries):                                         {hostileHost, hostileType, hostileText, hostileUnit},
			"/host/" + escaped(hostileText):                                             {},
			"/series/" + escaped(hostileText):                                           {},
			"/dashboard/" + escaped(hostileTitle):                                       {},
			"/workbench?g=" + escaped(`DEF:a=`+hostileText+` LINE1:a#000:`+hostileText): {},
			"/status": {},
			"/alerts": {},
		} {
			x.expect(`status of 4\d\d`) // there is no such series
			x.open(path)
			x.settle()
			if found := eval[string](x, planted); found != "" {
				t.Errorf("scripts %v, %s: a text became markup:\n%s", scripts, path, found)
			}
			read := eval[string](x, "document.body.innerText + document.title + [...document.querySelectorAll('[title], [aria-label]')].map(e => e.title + e.ariaLabel).join()")
			for _, want := range shown {
				if !strings.Contains(read, want) {
					t.Errorf("scripts %v, %s: one does not read %s", scripts, path, want)
				}
			}
		}
	}
}

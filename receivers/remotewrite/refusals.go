package remotewrite

import (
	"fmt"
	"strings"

	"github.com/rondo-db/rondo/receivers"
)

// maxTold is how many refusals an answer lists.
const maxTold = 10

// refusals are what of a request is not stored, and why.
type refusals struct {
	samples  int                       // refused
	native   int                       // native histograms
	dropped  [receivers.NumReasons]int // by reason
	again    bool                      // the request is to be sent again
	why      string                    // why it is
	reported []string
	more     int // refusals beyond reported
}

func (r *refusals) reset() { *r = refusals{reported: r.reported[:0]} }

// refuse notes that n samples are refused. what is called for the text.
func (r *refusals) refuse(why receivers.Reason, n int, what func() string) {
	r.samples += n
	r.dropped[why] += n
	r.tell(what)
}

func (r *refusals) tell(what func() string) {
	if len(r.reported) >= maxTold {
		r.more++
		return
	}
	r.reported = append(r.reported, what())
}

// retry notes that n samples were not stored, and that the request is to be sent again.
func (r *refusals) retry(n int, why string) {
	r.samples += n
	r.again, r.why = true, why
}

// text returns what the answer says. total is the number of samples in the request.
func (r *refusals) text(total int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d of %d samples stored", total-r.samples, total)
	if r.native > 0 {
		fmt.Fprintf(&b, ", %d native histograms refused", r.native)
	}
	b.WriteString(".\n")
	for _, t := range r.reported {
		b.WriteString(t)
		b.WriteByte('\n')
	}
	if r.more > 0 {
		fmt.Fprintf(&b, "and %d more refusals\n", r.more)
	}
	return b.String()
}

// name returns the name of a series for a text, as a selector.
func (w *work) name(x *wireSeries) string {
	const most = 200
	labels, err := w.parse(w.key(x))
	if err != nil {
		return "a series"
	}
	short := func(b []byte) string { return receivers.Text(b[:min(len(b), 2*most)]) }
	var name, more string
	for _, l := range labels {
		switch {
		case string(l.name) == NameLabel:
			name = short(l.value)
		case len(more) <= most:
			more += fmt.Sprintf(",%s=%q", short(l.name), short(l.value))
		}
	}
	if more != "" {
		name += "{" + more[1:] + "}"
	}
	if len(name) > most {
		name = string(cut([]byte(name), most)) + "…"
	}
	if name == "" {
		return "{}"
	}
	return name
}

package sink

import "strings"

// Covers reports whether r matches every series that o matches: o never applies if it stands behind
// r. It may return false for patterns that cover each other only as a whole, such as "a*" and
// "*a*".
func (r *Rule) Covers(o *Rule) bool {
	for name, pattern := range r.Labels {
		other, ok := o.Labels[name]
		if !ok {
			other = "**" // any text, also none
		}
		if !globCovers(labelTokens(pattern), labelTokens(other)) {
			return false
		}
	}
	if o.Path == "" {
		return r.Path == "" || globCovers(globTokens(r.Path), []int{anyText})
	}
	return r.Path == "" || globCovers(globTokens(r.Path), globTokens(o.Path))
}

// The tokens of a pattern that match more than themselves. Every other token is one byte of text.
const (
	anyText = -1 - iota // "**"
	anyPart             // "*": no slash
	anyOne              // "?": one character, no slash
)

// globTokens returns the tokens of a pattern for paths.
func globTokens(glob string) []int {
	var tokens []int
	for i := 0; i < len(glob); i++ {
		switch {
		case strings.HasPrefix(glob[i:], "**"):
			tokens = append(tokens, anyText)
			i++
		case glob[i] == '*':
			tokens = append(tokens, anyPart)
		case glob[i] == '?':
			tokens = append(tokens, anyOne)
		default:
			tokens = append(tokens, int(glob[i]))
		}
	}
	return tokens
}

// labelTokens returns the tokens of a pattern for labels, in which "*" matches any text.
func labelTokens(glob string) []int {
	tokens := globTokens(glob)
	for i, t := range tokens {
		if t == anyPart {
			tokens[i] = anyText
		}
	}
	return tokens
}

// globCovers reports whether the tokens of b can be assigned, in order, to tokens of a that match
// at least as much. Then a matches everything that b matches. It takes len(a)·len(b) steps.
func globCovers(a, b []int) bool {
	// row[j] says whether the tokens of a so far cover the first j tokens of b.
	row := make([]bool, len(b)+1)
	row[0] = true
	for _, t := range a {
		repeats := t == anyText || t == anyPart
		next := make([]bool, len(b)+1)
		for j := range next {
			switch {
			case repeats && row[j]: // t matches nothing
				next[j] = true
			case j == 0:
			case repeats:
				next[j] = next[j-1] && tokenCovers(t, b[j-1])
			default:
				next[j] = row[j-1] && tokenCovers(t, b[j-1])
			}
		}
		row = next
	}
	return row[len(b)]
}

// tokenCovers reports whether the token a matches everything that the token b matches. A character
// beyond ASCII is several tokens of text, which "?" is said not to cover.
func tokenCovers(a, b int) bool {
	switch a {
	case anyText:
		return true
	case anyPart:
		return b != anyText && b != '/'
	case anyOne:
		return b == anyOne || b >= 0 && b < 0x80 && b != '/'
	}
	return a == b
}

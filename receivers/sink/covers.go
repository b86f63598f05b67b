package sink

import "strings"

// Covers reports whether r matches every series that o matches, as far as patterns tell: behind r,
// o never decides then. It may miss this of patterns that cover each other only as a whole, such as
// "a*" and "*a*".
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

// What stands in a pattern for more than itself. Every other token is one byte of text.
const (
	anyText = -1 - iota // "**"
	anyPart             // "*": no slash
	anyOne              // "?": one character, no slash
)

// globTokens takes a pattern for paths apart.
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

// labelTokens takes a pattern for labels apart, where "*" is any text.
func labelTokens(glob string) []int {
	tokens := globTokens(glob)
	for i, t := range tokens {
		if t == anyPart {
			tokens[i] = anyText
		}
	}
	return tokens
}

// globCovers reports whether each token of b can go to a token of a that stands for at least as
// much, in order: then a matches all that b matches.
func globCovers(a, b []int) bool {
	// row[j] says whether the tokens of a so far cover the first j of b.
	row := make([]bool, len(b)+1)
	row[0] = true
	for _, t := range a {
		repeats := t == anyText || t == anyPart
		next := make([]bool, len(b)+1)
		for j := range next {
			switch {
			case repeats && row[j]: // t stands for nothing
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

// tokenCovers reports whether a token of a may stand for all that one of b stands for. A character
// beyond ASCII is several tokens of text, which "?" does not cover here.
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

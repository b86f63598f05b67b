package rpn

// A WordKind is what a word of an expression is.
type WordKind uint8

// The kinds of words.
const (
	Operator WordKind = iota
	Number
	Variable
	Previous // PREV(variable)
)

// A Word is one word of a compiled expression.
type Word struct {
	Kind     WordKind
	Operator string  // its name: "+", "UN", …
	Variable int     // Variable, Previous: index into the variables of Compile
	Number   float64 // Number
}

// Words returns the expression word by word, for programs that write it in another form.
func (p *Program) Words() []Word {
	words := make([]Word, len(p.nodes))
	for i, n := range p.nodes {
		w := &words[i]
		switch n.op {
		case opNumber:
			w.Kind, w.Number = Number, n.number
		case opVariable:
			w.Kind, w.Variable = Variable, int(n.variable)
		case opPrevOther:
			w.Kind, w.Variable = Previous, int(n.variable)
		default:
			w.Operator = table[n.op].name
		}
	}
	return words
}

package rra

// ParseReading is [ParseValue] for text in a buffer that is used again. It parses what
// [PlainReading] parses without an allocation. A text that rrdtool refuses gives a value with
// TagInvalid.
func ParseReading(k Kind, text []byte, texts *[]string) Value {
	if v, ok := PlainReading(k, text); ok {
		return v
	}
	v, _ := parseOther(k, string(text), texts) // the tag says whether there was an error
	return v
}

package charts

// The colours that recipes name. Lines without a colour get the colours of palette in turn.
const (
	blue, green, orange, red  = "#3b78d8", "#3fa66b", "#f0a13a", "#d9534f"
	purple, pink, teal, brown = "#8e63ce", "#d65fb8", "#2aa5a0", "#9c6b43"
	gray, pale, olive, sky    = "#6b7280", "#c9d1d9", "#9aa83a", "#6fb7e8"
)

var palette = []string{blue, orange, green, red, purple, teal, pink, olive, sky, brown, gray, "#e8c547"}

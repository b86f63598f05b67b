package web

import (
	"fmt"
	"path"
	"regexp"
	"strings"
)

// joinedName is the file that has all modules of the page.
const joinedName = "joined.js"

var (
	// importLine finds what a module imports before it runs: {a, b} or * as a.
	importLine = regexp.MustCompile(`(?m)^import (?:(\{[^}]*\})|\* as (\w+)) from '(\.[^']+)';$`)
	// importCall finds what a module imports when it is first needed.
	importCall = regexp.MustCompile(`\(\) => import\('(\.[^']+)'\)`)
	// exportLine finds what a module exports.
	exportLine = regexp.MustCompile(`(?m)^export ((?:async )?function|class|const) (\w+)`)
	// otherLine finds imports and exports of other forms.
	otherLine = regexp.MustCompile(`(?m)^\s*(?:import|export)\b.*$|await import\(.*$`)
)

// A joiner writes modules into one file, each as a function that is called once and returns what
// the module exports. A browser takes milliseconds for each file, and the page has fifty.
type joiner struct {
	all     assets
	names   map[string]string // of modules in the file; empty while a module's imports are written
	out     strings.Builder
	problem error
}

// join joins a module and all that it imports, directly or not.
func (all assets) join(first string) ([]byte, error) {
	j := &joiner{all: all, names: make(map[string]string)}
	j.add(first)
	return []byte(j.out.String()), j.problem
}

// add writes a module behind those that it imports, and returns its name in the file.
func (j *joiner) add(name string) string {
	if known, ok := j.names[name]; ok {
		if known == "" {
			j.fail("%s imports itself", name)
		}
		return known
	}
	file, ok := j.all[name]
	if !ok {
		j.fail("there is no module %s", name)
		return ""
	}
	j.names[name] = ""
	source := string(file.data)
	at := func(other string) string { return j.add(path.Join(path.Dir(name), other)) }
	var exports []string
	for _, m := range exportLine.FindAllStringSubmatch(source, -1) {
		exports = append(exports, m[2])
	}
	source = exportLine.ReplaceAllString(source, "$1 $2")
	source = replaced(source, importLine, func(m []string) string { return "const " + m[1] + m[2] + " = " + at(m[3]) + ";" })
	source = replaced(source, importCall, func(m []string) string { return "() => Promise.resolve(" + at(m[1]) + ")" })
	source = strings.ReplaceAll(source, "import.meta.url", "new URL('"+name+"', import.meta.url)")
	if rest := otherLine.FindString(source); rest != "" {
		j.fail("%s has a line of another form: %s", name, rest)
	}
	mine := "$" + strings.NewReplacer("/", "$", "-", "_", ".js", "").Replace(name)
	j.names[name] = mine
	fmt.Fprintf(&j.out, "// %s\nconst %s = (() => {\n%s\nreturn { %s };\n})();\n\n", name, mine, strings.TrimRight(source, "\n"), strings.Join(exports, ", "))
	return mine
}

func (j *joiner) fail(format string, args ...any) {
	if j.problem == nil {
		j.problem = fmt.Errorf(format, args...)
	}
}

// replaced replaces what an expression finds in a text by what f makes of its groups.
func replaced(text string, by *regexp.Regexp, f func(m []string) string) string {
	return by.ReplaceAllStringFunc(text, func(found string) string { return f(by.FindStringSubmatch(found)) })
}
